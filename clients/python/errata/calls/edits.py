"""Calls that write: corrections, facts, reverts and rollbacks, each with a key that makes it safe to repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Any, Literal, TypedDict, Unpack

from errata import wire
from errata.request import Call, build, new_key
from errata.wire import Act, Request, Wait


class CommitOptions(TypedDict, total=False):
    """Options of a write; None has the effect of leaving one out.

    Attributes:
        wait: "none" does not wait for the replicas.
        wait_report: Wait for the whole report, too: its `report_state` is then `done`.
        strict: Refuse with BreaksTests a commit that breaks an earlier edit or changes another answer of the pack,
            with SimilarName a question that may misspell a name.
        dry_run: Measure, and change nothing.
        idempotency_key: The key of a write whose receipt was lost repeats it without making it twice.
    """

    message: str
    wait: Wait
    wait_report: bool
    strict: bool
    dry_run: bool
    idempotency_key: str | None


class EditOptions(CommitOptions, total=False):
    """Further options of an edit.

    Attributes:
        expected_version: Refuse with StaleVersion if the ledger has moved on.
        method: The method of editing; without it the memory's default.
        options: Options of the memory that /v1/models lists, such as {"lambda": 0.07} for surgery.
        review: A day on which a person looks at the edits again (`reviews`).
        skip_refused: Leave out refused edits; the report lists them.
        measure: False, with dry_run, only lists the edits that would be refused.
    """

    expected_version: int | None
    method: str | None
    options: dict[str, Any]
    review: date | None
    skip_refused: bool
    measure: bool


def commit(path: str, kind: type[Request], fields: dict[str, object]) -> Call[wire.EditReceipt]:
    """Describe a write whose body is a `kind` of these fields; the idempotency key among them goes into the header."""
    key = take_key(fields)
    reads = bool(fields.get("dry_run"))
    body = build(kind, **fields)
    return Call("POST", path, wire.EditReceipt, body, idempotency_key=key, reads=reads, slow=True)


def take_key(fields: dict[str, object]) -> str:
    """Remove the caller's idempotency key from the fields and return it, or a new one."""
    key = fields.pop("idempotency_key", None)
    if key is None:
        return new_key()
    return build(wire.IdempotencyHeader, idempotency_key=key).idempotency_key


class EditCalls:
    """The part of `Calls` that writes; it needs the scope edit."""

    def edit(
        self,
        question: str,
        answer: str,
        *,
        paraphrases: Iterable[str] = (),
        counterexamples: Iterable[str] = (),
        replaces: Iterable[int | str] = (),
        tests: Mapping[str, str | None] = MappingProxyType({}),
        model: str | None = None,
        **options: Unpack[EditOptions],
    ) -> Call[wire.EditReceipt]:
        """Make `question`, and its paraphrases, have this answer from the next version on.

        Args:
            answer: Its new answer.
            paraphrases: Other wordings of the question.
            counterexamples: Questions that resemble it and ask for something else; the edit never answers them.
            replaces: Earlier edits that it replaces, by the version that made them or by id.
            tests: Questions that checks ask, with their expected answers; None for the answer given before the edit.
            model: The corrected model; None for the service's choice.
            **options: Options of the edit.
        """
        item = {
            "question": question,
            "answer": answer,
            "paraphrases": list(paraphrases),
            "counterexamples": list(counterexamples),
            "replaces": list(replaces),
            "tests": [{"question": text, "answer": expected} for text, expected in tests.items()],
            "model": model,
        }
        return self.edit_many([build(wire.EditItem, **item)], **options)

    def edit_many(self, edits: Iterable[wire.Item], **options: Unpack[EditOptions]) -> Call[wire.EditReceipt]:
        """Make all edits, facts and definitions of relations in one commit, or none of them."""
        return commit("/admin/edits", wire.EditRequest, {"edits": list(edits), **options})

    def fact(
        self,
        subject: str,
        relation: str,
        object: str,
        *,
        act: Act | None = None,
        only: Literal["graph"] | None = None,
        create: bool = False,
        **options: Unpack[EditOptions],
    ) -> Call[wire.EditReceipt]:
        """Make this triple a fact for every system.

        Args:
            subject: An entity's id or name; Ambiguous if several have the name.
            object: The value, or an entity.
            act: "set" it in place of all other values, "add" it to them or "remove" it. None sets or adds it as the
                relation holds one value or many; AddOrSet where that is not defined.
            only: "graph" changes only systems that read the graph.
            create: Make a new subject or relation though its name is nearly one in use, else SimilarName.
            **options: Options of the edit.
        """
        item = build(
            wire.FactItem,
            subject=subject,
            relation=relation,
            object=object,
            act=act,
            only=only,
            create=create,
        )
        return self.edit_many([item], **options)

    def define_relation(
        self,
        name: str,
        *,
        holds: Literal["one", "many"] | None = None,
        label: str | None = None,
        **options: Unpack[EditOptions],
    ) -> Call[wire.EditReceipt]:
        """Define how many values a relation holds for one subject, and its label, which a model reads."""
        return self.edit_many([build(wire.RelationItem, define=name, holds=holds, label=label)], **options)

    def change(
        self,
        memory: str,
        kind: str,
        change: Mapping[str, Any],
        *,
        question: str | None = None,
        answer: str | None = None,
        paraphrases: Iterable[str] = (),
        model: str | None = None,
        **options: Unpack[EditOptions],
    ) -> Call[wire.EditReceipt]:
        """Make a change that only one memory knows, such as a rule or the senses of a word.

        Args:
            kind: One of the memory's kinds; `models` lists them with their fields.
            change: The fields of that kind.
            question: A question that shows whether the change works, kept as a fact test with its answer.
            answer: The expected answer.
            paraphrases: Other wordings of the question.
            model: The system that is asked; by default the first that reads the memory.
            **options: Options of the edit.
        """
        item = build(
            wire.MemoryItem,
            memory=memory,
            kind=kind,
            change=dict(change),
            question=question,
            answer=answer,
            paraphrases=list(paraphrases),
            model=model,
        )
        return self.edit_many([item], **options)

    def revert(
        self, version: int | None = None, *, edits: Iterable[str] = (), **options: Unpack[CommitOptions]
    ) -> Call[wire.EditReceipt]:
        """Take one commit back, however old, or single edits by their ids, in a new commit."""
        fields = {"version": version, "edits": list(edits), **options}
        return commit("/admin/reverts", wire.RevertRequest, fields)

    def rollback(self, to: int, **options: Unpack[CommitOptions]) -> Call[wire.EditReceipt]:
        """Make version `to` the current one again, in a new commit."""
        return commit("/admin/rollbacks", wire.RollbackRequest, {"to": to, **options})
