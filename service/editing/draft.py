"""The editor's state, and the draft of a commit with the state that follows from it.

A state has every commit, the active edits, and every memory and model at the newest version. A plan makes a draft; the
builder makes the state after it, which the evaluation compares with the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from types import MappingProxyType

from errata.wire import EditReport, RefusedEdit
from more_itertools import map_reduce

from models.memory import Material
from service.editing.models import MemoryAtVersion, ModelsAtVersion
from service.ledger import fold
from service.ledger.commit import EDITS_PER_COMMIT, Commit, EditRecord, Kind, canonical, sha256
from service.ledger.fold import ActiveRecords
from service.ledger.fold import Change as Switch

MemoriesAtVersion = Mapping[str, MemoryAtVersion]


@dataclass(frozen=True, eq=False)
class EditorState:
    commits: tuple[Commit, ...]  # all commits, packed to save memory
    edits: Mapping[str, EditRecord] = field(repr=False)  # every edit ever made, by id, in ledger order
    active: frozenset[str]  # ids of the active edits
    memories: MemoriesAtVersion
    models: ModelsAtVersion

    @property
    def version(self) -> int:
        return len(self.commits)

    @property
    def digest(self) -> str:
        """The digest of the newest commit, which the next one has to name."""
        return self.commits[-1].digest if self.commits else ""

    def find_version(self, version: int | None) -> int:
        """Return an existing version, 0 included; None is the newest."""
        if version is None:
            return self.version
        return version and fold.find(self.commits, version).version

    @cached_property
    def active_records(self) -> ActiveRecords:
        return ActiveRecords(self.edits, self.active)

    @cached_property
    def edits_by_subject(self) -> Mapping[str, Sequence[EditRecord]]:
        """Every fact ever edited, by the entity that it is about; imports and corrections are under ""."""
        return map_reduce(self.edits.values(), lambda edit: edit.triple.subject if edit.triple else "")

    @cached_property
    def _edits_by_name(self) -> Mapping[int | str, Sequence[EditRecord]]:
        return map_reduce(
            (
                (name, edit)
                for edit in self.edits.values()
                for name in (edit.id, edit.order // EDITS_PER_COMMIT)
            ),
            itemgetter(0),
            itemgetter(1),
        )

    def find_named(self, names: Iterable[int | str], memory: str) -> list[EditRecord]:
        """Return the edits of a memory that are named by id or by version, taken back or not, in ledger order."""
        edits = {edit.id: edit for name in names for edit in self._edits_by_name.get(name, ())}
        return sorted((edit for edit in edits.values() if edit.memory == memory), key=lambda edit: edit.order)

    @cached_property
    def replacements(self) -> Mapping[tuple[str, str, str], EditRecord]:
        """The last active edit that replaced each edit, by its id, and the model and memory of the later one."""
        return {
            (earlier, edit.model, edit.memory): edit
            for edit in self.active_records.in_order
            for earlier in edit.notes.get("replaces", ())
        }

    def active_ids(self, change: Switch) -> frozenset[str]:
        return (self.active - set(change.deactivates)) | set(change.activates)

    def active_edits(self, change: Switch) -> list[EditRecord]:
        return ActiveRecords(self.edits, self.active_ids(change)).in_order

    def active_at(self, version: int) -> list[EditRecord]:
        return list(fold.active(self.commits[:version]).values())


@dataclass(frozen=True)
class Draft:
    """A planned commit, valid on the version for which it was drafted."""

    change: Switch
    # The commit that a revert takes back, or the version that a rollback returns to; None otherwise
    target: int | None = None
    records: tuple[EditRecord, ...] = ()  # its new edits
    materials: tuple[Material, ...] = ()  # the rows of the new edits
    # The report of each edit for which nothing is written, by its place in the request
    no_ops: Mapping[int, EditReport] = field(default_factory=dict)
    # The place of each new edit in the request, by the edit's id
    places: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[RefusedEdit, ...] = ()  # the edits that were left out

    @cached_property
    def switched_ids(self) -> Set[str]:
        return {*self.change.activates, *self.change.deactivates}


@dataclass(frozen=True)
class Build:
    """A draft with every memory and model as they would be after it."""

    state: EditorState
    draft: Draft
    memories: MemoriesAtVersion
    models: ModelsAtVersion

    @cached_property
    def old_edits(self) -> Sequence[EditRecord]:
        """The edits that were there before and are switched on or off, in ledger order."""
        edits = (self.state.edits[key] for key in self.draft.switched_ids if key in self.state.edits)
        return sorted(edits, key=lambda edit: edit.order)

    @cached_property
    def all_edits(self) -> Mapping[str, EditRecord]:
        """Every edit ever made, and those of the draft, in ledger order."""
        return MappingProxyType({**self.state.edits, **{record.id: record for record in self.draft.records}})

    @property
    def active_records(self) -> ActiveRecords:
        return ActiveRecords(self.all_edits, self.state.active_ids(self.draft.change))


def request_digest(kind: Kind, content: Mapping[str, object]) -> str:
    return sha256(canonical({"kind": kind, **content}))


def one_line(values: Sequence[str], count: int | None = None, limit: int = 10) -> str:
    """Return the first values in words; `count`: how many there are if these are only the first ones."""
    n_more = (len(values) if count is None else count) - limit
    suffix = f" and {n_more:,} more" if n_more > 0 else ""
    return ", ".join(values[:limit]) + suffix
