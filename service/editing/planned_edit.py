"""A planned edit: what a request says of one edit, before it has rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from errata.wire.wording import normalize_question

from models.graph.blocks import EntityStatements
from models.graph.memory import TripleChange
from models.memory import AnswerChange, Change, ChangeKind, Fields, FieldsChange, Material
from service.editing.notes import Note, dump_note
from service.ledger.commit import EditRecord, GivenTest, Triple, new_edit_id

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
