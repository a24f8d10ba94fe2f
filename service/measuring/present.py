"""What the writer knows: every commit, which edits are active, and every memory as it is now, ready to be asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from service.ledger import fold
from service.ledger.commit import Commit, EditRecord
from service.measuring.reading import Reading

NO_CHANGE = fold.Change((), ())


@dataclass(frozen=True, eq=False)
class Present:
    """The ledger at its newest version. Immutable: a commit makes another one.

    commits: packed, for all of them are here. edits: every edit ever made, in ledger order. active: ids. readings: by
    model.
    """

    commits: tuple[Commit, ...]
    edits: Mapping[str, EditRecord] = field(repr=False)
    active: frozenset[str]
    readings: Mapping[str, Reading]

    @staticmethod
    def empty(readings: Mapping[str, Reading]) -> Present:
        """Version 0: nothing but the base."""
        return Present((), {}, frozenset(), readings)

    @property
    def version(self) -> int:
        return len(self.commits)

    @property
    def digest(self) -> str:
        """Of the newest commit: what the next one has to name."""
        return self.commits[-1].digest if self.commits else ""

    def active_edits(self, change: fold.Change = NO_CHANGE) -> list[EditRecord]:
        """In ledger order; `change`: as if this had been switched already."""
        active = (self.active - set(change.deactivates)) | set(change.activates)
        return [edit for key, edit in self.edits.items() if key in active]

    def among(self, ids: Iterable[str]) -> list[EditRecord]:
        """The edits with these ids."""
        return [self.edits[key] for key in ids if key in self.edits]

    def active_at(self, version: int) -> list[EditRecord]:
        return list(fold.active(self.commits[:version]).values())

    def followed_by(self, commits: Sequence[Commit], readings: Mapping[str, Reading]) -> Present:
        ids = set(self.active)
        for commit in commits:
            ids.difference_update(commit.deactivates)
            ids.update(commit.activates)
        edits = {**self.edits, **fold.edits(commits)}
        packed = [commit.packed() for commit in commits]
        return Present((*self.commits, *packed), edits, frozenset(ids), readings)
