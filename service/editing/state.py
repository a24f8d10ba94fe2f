"""The editor's state: every commit, the active edits, and every memory and model at the newest version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from service.editing.models import MemoryAtVersion, ModelsAtVersion
from service.ledger import fold
from service.ledger.commit import Commit, EditRecord
from service.ledger.fold import ActiveRecords, Change

MemoriesAtVersion = Mapping[str, MemoryAtVersion]


@dataclass(frozen=True, eq=False)
class EditorState:
    """The ledger at its newest version.

    Attributes:
        commits: All commits, packed to save memory.
        edits: Every edit ever made, by id, in ledger order.
        active: Ids of the active edits.
    """

    commits: tuple[Commit, ...]
    edits: Mapping[str, EditRecord] = field(repr=False)
    active: frozenset[str]
    memories: MemoriesAtVersion
    models: ModelsAtVersion

    @property
    def version(self) -> int:
        return len(self.commits)

    @property
    def digest(self) -> str:
        """The digest of the newest commit, which the next one has to name."""
        return self.commits[-1].digest if self.commits else ""

    @cached_property
    def active_records(self) -> ActiveRecords:
        """The active edits."""
        return ActiveRecords(self.edits, self.active)

    def active_ids(self, change: Change) -> frozenset[str]:
        """Return the ids of the active edits, as if `change` were applied."""
        return (self.active - set(change.deactivates)) | set(change.activates)

    def active_edits(self, change: Change) -> list[EditRecord]:
        """Return the active edits in ledger order, as if `change` were applied."""
        return ActiveRecords(self.edits, self.active_ids(change)).in_order

    def active_at(self, version: int) -> list[EditRecord]:
        return list(fold.active(self.commits[:version]).values())
