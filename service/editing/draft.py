"""The editor's state, the plan of a request, and the draft of a commit with the state that follows from it.

A state has every commit, the active edits, and every memory and model at the newest version. A plan makes a draft; the
builder makes the state after it, which the evaluation compares with the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

from errata.wire import EditReport, RefusedEdit
from errata.wire.wording import normalize_question
from more_itertools import map_reduce

from models.graph.blocks import EntityStatements
from models.graph.memory import TripleChange
from models.memory import AnswerChange, Change, ChangeKind, Fields, FieldsChange, Material
from service.editing.models import MemoryAtVersion, ModelsAtVersion
from service.editing.notes import Note, dump_note
from service.ledger import fold
from service.ledger.commit import Commit, EditRecord, GivenTest, Kind, Triple, canonical, new_edit_id, sha256
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

    def active_ids(self, change: Switch) -> frozenset[str]:
        return (self.active - set(change.deactivates)) | set(change.activates)

    def active_edits(self, change: Switch) -> list[EditRecord]:
        return ActiveRecords(self.edits, self.active_ids(change)).in_order

    def active_at(self, version: int) -> list[EditRecord]:
        return list(fold.active(self.commits[:version]).values())


TO_REPLACE = "to_replace"  # name of the note that lists the edits which the caller told this one to replace

EXTENDS = "extends"  # name of the note with the version of the edit that this one says more than


@dataclass(frozen=True)
class PlannedEdit:
    place: int  # place of its item in the request
    model: str  # the model whose answers show what the edit does
    memory: str
    method: str
    question: str  # its question; "" for a fact that has none
    answer: str
    given_paraphrases: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    # Versions and ids of the earlier edits that the caller told it to replace
    replaces: tuple[int | str, ...] = ()
    # Tests of the caller; without an answer, the one before the edit is meant
    tests: tuple[GivenTest, ...] = ()
    # Version of the earlier edit with the same answer whose wordings, examples and tests it keeps
    extends: int | None = None
    is_repetition: bool = False  # whether an earlier edit of the request says all of it
    triple: Triple | None = None  # the fact, of an edit of the graph
    statements: EntityStatements | None = None  # the statements that the fact writes
    fields: Fields | None = None  # the fields of a change that only this memory knows
    no_op_reason: str | None = None  # why nothing has to be written for it
    note: Note | None = None
    id: str = field(default_factory=new_edit_id)

    @property
    def notes(self) -> Mapping[str, Any]:
        return dump_note(self.note)

    @cached_property
    def paraphrases(self) -> tuple[str, ...]:
        distinct = {normalize_question(self.question): self.question}
        for wording in self.given_paraphrases:
            distinct.setdefault(normalize_question(wording), wording)
        return tuple(distinct.values())[1:]

    @property
    def wordings(self) -> tuple[str, ...]:
        return (self.question, *self.paraphrases) if self.question else ()

    @property
    def is_answer(self) -> bool:
        """Whether it corrects an answer, and is neither a fact nor a change that only its memory knows."""
        return self.statements is None and self.fields is None

    @property
    def change(self) -> Change:
        if self.fields is not None:
            kind = cast(ChangeKind, self.method)
            return FieldsChange(
                self.id, kind, self.fields, self.question, self.answer if self.question else ""
            )
        if self.statements is not None:
            return TripleChange(self.id, self.statements)
        return self.answer_change()

    def answer_change(
        self, replaces: tuple[str, ...] = (), other_names: tuple[str, ...] = ()
    ) -> AnswerChange:
        """Return the change of an answer. `other_names`: its question with other names of its subject."""
        own_wordings = {normalize_question(wording) for wording in (*self.wordings, *self.counterexamples)}
        fresh = tuple(wording for wording in other_names if normalize_question(wording) not in own_wordings)
        return AnswerChange(
            self.id, self.question, self.answer, self.paraphrases, self.counterexamples, replaces, fresh
        )

    def record(self, material: Material) -> EditRecord:
        return EditRecord(
            id=self.id,
            model=self.model,
            memory=self.memory,
            question=self.question,
            answer=self.answer,
            paraphrases=self.paraphrases,
            method=material.method,
            material=material.block.digest,
            order=material.block.order,
            notes={
                **material.notes,
                **self.notes,
                **({TO_REPLACE: list(self.replaces)} if self.replaces else {}),
                **({EXTENDS: self.extends} if self.extends is not None else {}),
            },
            triple=self.triple,
            counterexamples=self.counterexamples,
            tests=self.tests,
        )


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
