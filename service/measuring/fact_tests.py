"""Fact tests: every wording of every edit with its answer, kept for ever, so that no later edit silently breaks one.

A test holds when its answer comes out, whichever edit says it. Else it is superseded when a later edit was made to
answer anew, and that one is in its place: the later one has the same wording, or what it corrected was the answer of
the earlier (its notes then say `replaces`). Else it is broken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from errata.wire import BrokenTest

from service.ledger.commit import EDITS_PER_COMMIT, EditRecord
from service.measuring.reading import Said
from service.measuring.wanted import comes_out
from service.measuring.wording import plain

Key: TypeAlias = tuple[str, int]


class FactTest(NamedTuple):
    """One wording of an edit. place: 0 is its question."""

    record: EditRecord
    place: int

    @property
    def key(self) -> Key:
        return self.record.id, self.place

    @property
    def question(self) -> str:
        return self.record.wordings[self.place]

    @property
    def version(self) -> int:
        return version_of(self.record)

    def holds(self, said: Said) -> bool:
        return comes_out(self.record, said.answer, said.objects)

    def failed(self, actual: str | None) -> BrokenTest:
        return BrokenTest(
            edit=self.record.id,
            version=self.version,
            question=self.question,
            expected=self.record.answer,
            actual=actual,
        )


def version_of(edit: EditRecord) -> int:
    """Of the commit that made the edit."""
    return edit.order // EDITS_PER_COMMIT


class Successors:
    """Who took the place of whom, among active edits in ledger order. Looked through once somebody asks.

    made: all edits by their ids. A later one stands in for those before one that was taken back, too.
    tests: those that will be asked about.
    """

    def __init__(
        self, edits: Sequence[EditRecord], made: Mapping[str, EditRecord], tests: Sequence[FactTest]
    ) -> None:
        self._edits, self._made, self._tests = edits, made, tests

    @cached_property
    def _last(self) -> Mapping[tuple[str, str], EditRecord]:
        """Model and wording, of the tests -> the last edit that has it."""
        tested = {plain(test.question) for test in self._tests}
        return {
            (edit.model, wording): edit
            for edit in self._edits
            for wording in map(plain, edit.wordings)
            if wording in tested
        }

    @cached_property
    def _heirs(self) -> Mapping[str, Sequence[EditRecord]]:
        active = {edit.id for edit in self._edits}
        heirs = _heirs_of(list(self._made.values()))
        return {key: [edit for edit in found if edit.id in active] for key, found in heirs.items()}

    def of(self, test: FactTest, said: Said | None) -> EditRecord | None:
        """The edit that took over: one that replaced the test's and speaks, or the last one of this wording.

        said: None where nobody asked. Whoever replaced it is taken to speak then; a value that another edit adds to
        others is taken to be still there.
        """
        heirs = self._heirs.get(test.record.id, ())
        if said is not None:
            heirs = [edit for edit in heirs if edit.id in said.edits]
        elif test.record.triple is not None and test.record.triple.act == "add":
            return None
        last = self._last[test.record.model, plain(test.question)]
        return heirs[-1] if heirs else last if last.id != test.record.id else None


def _heirs_of(edits: Sequence[EditRecord]) -> Mapping[str, Sequence[EditRecord]]:
    """Edit -> the later ones that replaced it, or replaced one that did, in ledger order."""
    replacing = {edit.id: edit for edit in reversed(edits) if "replaces" in edit.notes}
    heirs: dict[str, dict[str, None]] = defaultdict(dict)
    for edit in replacing.values():
        for replaced in edit.notes["replaces"]:
            heirs[replaced] |= dict.fromkeys((*heirs[edit.id], edit.id))
    return {
        key: sorted((replacing[one] for one in found), key=lambda edit: edit.order)
        for key, found in heirs.items()
        if found
    }
