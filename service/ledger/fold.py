"""The edits that are active at a version: a pure function of the commits, so that undo is exact.

An edit commit activates its edits. A revert undoes the remaining effect of one commit. A rollback makes the active
set that of an old version again. Single edits are taken back by their ids. An edit that comes back keeps its first
place, so the rows that follow from the active edits hold no trace of an undone edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from service.errors import NotFound, NothingToDo
from service.ledger.commit import Commit, EditRecord, corrupt


@dataclass(frozen=True)
class Change:
    """The edit ids that a new commit switches on and off, each in ledger order."""

    activates: tuple[str, ...]
    deactivates: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ActiveRecords:
    """The active edits of one version; `in_order` passes over all edits, and hardly any commit needs it."""

    all_edits: Mapping[str, EditRecord]  # every edit ever made, by id, in ledger order
    ids: Set[str]  # ids of the active ones

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def in_order(self) -> list[EditRecord]:
        return [edit for id, edit in self.all_edits.items() if id in self.ids]


def edits(commits: Iterable[Commit]) -> dict[str, EditRecord]:
    return {edit.id: edit for commit in commits for edit in commit.edits}


def active_ids(commits: Iterable[Commit], before: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the ids of the active edits after `commits`, from those that were active `before` them."""
    ids = set(before)
    for commit in commits:
        if not ids.isdisjoint(commit.activates) or not ids.issuperset(commit.deactivates):
            raise corrupt(commit.version, "it switches edits that are not as it expects them")
        ids.difference_update(commit.deactivates)
        ids.update(commit.activates)
    return frozenset(ids)


def active(commits: Sequence[Commit]) -> dict[str, EditRecord]:
    """Collect the active edits after all of `commits` (versions 1, 2, ...), in ledger order."""
    ids = active_ids(commits)
    return {key: edit for key, edit in edits(commits).items() if key in ids}


def revert(commits: Sequence[Commit], version: int) -> Change:
    """Return the switches of a new commit that takes commit `version` back."""
    commit = find(commits, version)
    now = active(commits)
    on = [key for key in commit.deactivates if key not in now]
    off = [key for key in commit.activates if key in now]
    if not on and not off:
        raise NothingToDo(
            f"version {version} has no effect left: it was taken back before; there is nothing to revert",
            version=version,
        )
    return _change(commits, on, off)


def revert_edits(commits: Sequence[Commit], ids: Sequence[str]) -> Change:
    """Return the switches of a new commit that takes single edits back."""
    all_edits, now = edits(commits), active(commits)
    for id in ids:
        if id not in all_edits:
            raise NotFound(
                f"there is no edit {id}: errata log shows the versions, errata show VERSION the edits of one"
            )
        if id not in now:
            raise NothingToDo(f"edit {id} was taken back before; there is nothing to revert")
    return _change(commits, (), set(ids))


def rollback(commits: Sequence[Commit], to: int) -> Change:
    """Return the switches of a new commit that makes version `to` the current one again."""
    if to != 0:
        find(commits, to)
    then, now = active(commits[:to]), active(commits)
    if then.keys() == now.keys():
        raise NothingToDo(
            f"the edits of version {to} are the active ones already; there is nothing to roll back",
            version=to,
        )
    return _change(commits, then.keys() - now.keys(), now.keys() - then.keys())


def find(commits: Sequence[Commit], version: int) -> Commit:
    if not 1 <= version <= len(commits):
        head = len(commits)
        raise NotFound(f"there is no version {version}: the newest is {head}", version=version, head=head)
    return commits[version - 1]


def _change(commits: Sequence[Commit], on: Iterable[str], off: Iterable[str]) -> Change:
    place = {key: index for index, key in enumerate(edits(commits))}
    return Change(tuple(sorted(on, key=place.__getitem__)), tuple(sorted(off, key=place.__getitem__)))
