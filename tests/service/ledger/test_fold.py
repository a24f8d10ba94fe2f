"""Undo is exact: after any history the active edits are those that would be active without the undone commits."""

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from service.errors import LedgerCorrupt, NotFound, NothingToDo
from service.ledger import fold
from service.ledger.commit import Commit
from tests.hypotheses import examples
from tests.service.ledger.writing import Writer, fold_edits


def active(writer: Writer) -> list[str]:
    return list(fold.active(writer.commits))


def write(*counts: int) -> Writer:
    writer = Writer()
    for count in counts:
        writer.edit(count)
    return writer


def test_single_edits_are_taken_back_and_their_commit_later_for_the_rest() -> None:
    writer = Writer()
    writer.edit(3)
    first, second, third = writer.commits[0].activates
    writer.revert_edits([second])
    assert list(fold.active(writer.commits)) == [first, third]
    with pytest.raises(NothingToDo, match=f"edit {second} was taken back before"):
        fold.revert_edits(writer.commits, [first, second])
    with pytest.raises(NotFound, match="there is no edit e9"):
        fold.revert_edits(writer.commits, ["e9"])
    writer.revert(1)
    writer.revert(3)
    assert list(fold.active(writer.commits)) == [first, third]
    writer.revert(2)
    assert list(fold.active(writer.commits)) == [first, second, third]


@pytest.mark.parametrize("version", [-1, 3, 99])
def test_a_version_that_is_not_there_is_said_so(version: int) -> None:
    commits = write(1, 1).commits
    for change in (fold.revert, fold.rollback):
        with pytest.raises(NotFound, match=f"no version {version}: the newest is 2"):
            change(commits, version)


def test_version_zero_can_be_returned_to_but_not_reverted() -> None:
    commits = write(1).commits
    assert fold.rollback(commits, 0).deactivates == ("w00001x000",)
    with pytest.raises(NotFound):
        fold.revert(commits, 0)


@pytest.mark.parametrize("change", [{"deactivates": ("stranger",)}, {"activates": ("w00001x000",)}])
def test_a_commit_that_switches_what_it_cannot_is_damage(change: dict[str, tuple[str, ...]]) -> None:
    commits = write(1, 1).commits
    with pytest.raises(LedgerCorrupt, match="version 2"):
        fold.active([commits[0], replace(commits[1], **change)])  # type: ignore[arg-type]


class Histories(RuleBasedStateMachine):
    """Any edits, reverts and rollbacks, beside a model that knows whole commits and no edit ids."""

    def __init__(self) -> None:
        super().__init__()
        self.writer = Writer()
        self.wholes: list[frozenset[int]] = [frozenset()]  # which edit commits are active, by version

    @property
    def commits(self) -> list[Commit]:
        return self.writer.commits

    @rule(count=st.integers(1, 3))
    def edit(self, count: int) -> None:
        self.writer.edit(count)
        self.wholes.append(self.wholes[-1] | {len(self.commits)})

    @precondition(lambda self: self.commits)
    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        version = data.draw(st.integers(1, len(self.commits)))
        before, after, now = self.wholes[version - 1], self.wholes[version], self.wholes[-1]
        expected = (now | (before - after)) - (after - before)
        self._apply(lambda: self.writer.revert(version), expected)

    @rule(data=st.data())
    def rollback(self, data: st.DataObject) -> None:
        to = data.draw(st.integers(0, len(self.commits)))
        self._apply(lambda: self.writer.rollback(to), self.wholes[to])

    def _apply(self, make: object, expected: frozenset[int]) -> None:
        assert callable(make)
        if expected == self.wholes[-1]:
            with pytest.raises(NothingToDo):
                make()
        else:
            make()
            self.wholes.append(expected)

    @invariant()
    def commits_come_and_go_whole_and_in_ledger_order(self) -> None:
        expected = [e.id for v in sorted(self.wholes[-1]) for e in self.commits[v - 1].edits]
        assert active(self.writer) == expected

    @invariant()
    def the_rows_are_those_of_a_ledger_where_the_undone_was_never_made(self) -> None:
        edits = [e for v in sorted(self.wholes[-1]) for e in self.commits[v - 1].edits]
        for memory, image in fold_edits(edits).items():
            assert image.checksum == self.writer.history[-1][memory].checksum


TestHistories = Histories.TestCase
TestHistories.settings = examples(60, stateful_step_count=20)
