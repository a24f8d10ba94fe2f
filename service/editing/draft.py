"""What the stages of a commit hand on: the edits as planned, the draft of the commit, and the draft with its memories.

A plan is what a caller asks for; it drafts a commit on one version, and drafts again when another writer was faster.
Edit, import, revert and rollback differ in this first stage only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

from errata.wire import EditReport, RefusedEdit
from errata.wire.wording import normalize_question

from models.graph.blocks import EntityStatements
from models.graph.memory import TripleChange
from models.memory import AnswerChange, Change, ChangeKind, Fields, FieldsChange, Material
from service.editing.models import ModelsAtVersion
from service.editing.notes import Note, dump_note
from service.editing.state import EditorState, MemoriesAtVersion
from service.ledger.commit import EditRecord, Kind, Triple, canonical, new_edit_id, sha256
from service.ledger.fold import Change as Switch

TO_REPLACE = "to_replace"  # the note of an edit that was told whose place it takes


@dataclass(frozen=True)
class PlannedEdit:
    """One edit of one memory, before its rows are built.

    place: of the item in the request. model: whose answers show what the edit does. question: "" where nobody knows
    how to ask for it. is_repetition: an earlier edit of the request says all of it. generated_paraphrases: those that
    nobody gave, asked with the others so that the report knows how far the edit reaches. triple, statements: of an edit
    of the graph. fields: of a change of the memory's own kind. no_op_reason: why nothing has to be written for it.
    replaces: versions and ids of earlier edits, as they were given.
    """

    place: int
    model: str
    memory: str
    method: str
    question: str
    answer: str
    given_paraphrases: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    replaces: tuple[int | str, ...] = ()
    is_repetition: bool = False
    generated_paraphrases: tuple[str, ...] = ()
    triple: Triple | None = None
    statements: EntityStatements | None = None
    fields: Fields | None = None
    no_op_reason: str | None = None
    note: Note | None = None
    id: str = field(default_factory=new_edit_id)

    @property
    def notes(self) -> Mapping[str, Any]:
        """Return the note as JSON values."""
        return dump_note(self.note)

    @cached_property
    def paraphrases(self) -> tuple[str, ...]:
        """Return the given paraphrases without repetitions."""
        distinct = {normalize_question(self.question): self.question}
        for wording in self.given_paraphrases:
            distinct.setdefault(normalize_question(wording), wording)
        return tuple(distinct.values())[1:]

    @property
    def wordings(self) -> tuple[str, ...]:
        return (self.question, *self.paraphrases) if self.question else ()

    @property
    def is_answer(self) -> bool:
        """Return whether it corrects an answer, and is neither a fact nor a change of a memory's own kind."""
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
        """Return the change of an answer, with ids of the edits that it replaces and its question in other names."""
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
            },
            triple=self.triple,
            counterexamples=self.counterexamples,
        )


@dataclass(frozen=True)
class Draft:
    """A commit before it is one: valid on the version that it was made on.

    target: the commit a revert takes back, the version a rollback returns to. records, materials: of new edits.
    no_ops: place in the request -> report of an edit for which nothing is written. places: id of a new edit -> its
    place in the request. refused: edits that were left out.
    """

    change: Switch
    target: int | None = None
    records: tuple[EditRecord, ...] = ()
    materials: tuple[Material, ...] = ()
    no_ops: Mapping[int, EditReport] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[RefusedEdit, ...] = ()

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
    def all_edits(self) -> Mapping[str, EditRecord]:
        """Return every edit ever made and those of the draft, in ledger order."""
        return MappingProxyType({**self.state.edits, **{record.id: record for record in self.draft.records}})

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Return edit -> its answer."""
        return MappingProxyType({key: edit.answer for key, edit in self.all_edits.items()})


def request_digest(kind: Kind, content: Mapping[str, object]) -> str:
    return sha256(canonical({"kind": kind, **content}))


def one_line(values: Sequence[str], limit: int = 10) -> str:
    suffix = f" and {len(values) - limit:,} more" if len(values) > limit else ""
    return ", ".join(values[:limit]) + suffix
