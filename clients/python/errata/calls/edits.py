"""Writes: corrections, facts, reverts and rollbacks, each with the key that makes it safe to repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict, Unpack

from errata import wire
from errata.request import Call, build, new_key
from errata.wire import Act, Request, Wait


class CommitOptions(TypedDict, total=False):
    """None is as good as leaving an option out.

    wait: "none" does not wait for the replicas. strict: refuse with BreaksTests what breaks an earlier edit.
    dry_run: measure and change nothing.

    idempotency_key: give the same one again to repeat a write whose receipt was lost; it is not made twice.
    """

    message: str
    wait: Wait
    strict: bool
    dry_run: bool
    idempotency_key: str | None


class EditOptions(CommitOptions, total=False):
    """expected_version: refuse with StaleVersion if the ledger has moved on.

    measure: with False and dry_run only see what would be refused.
    method: the memory's default if left out. options: further ones of the memory, such as {"lambda": 0.07} for surgery;
    /v1/models lists them. skip_refused: leave out what is refused, the report tells of it.
    """

    expected_version: int | None
    method: str | None
    options: dict[str, Any]
    skip_refused: bool
    measure: bool


def commit(path: str, kind: type[Request], fields: dict[str, object]) -> Call[wire.EditReceipt]:
    """A write whose body is a `kind` of these fields; the idempotency key among them goes into the header."""
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
        model: str | None = None,
        **options: Unpack[EditOptions],
    ) -> Call[wire.EditReceipt]:
        """Make `question`, and its paraphrases, have this answer from the next version on.

        Args:
            counterexamples: questions that resemble it and ask for something else; the edit never answers them.
            replaces: earlier edits whose place it is meant to take, by the version that made them or by id.
        """
        item = {
            "question": question,
            "answer": answer,
            "paraphrases": list(paraphrases),
            "counterexamples": list(counterexamples),
            "replaces": list(replaces),
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
            subject: an entity's id, or its name; Ambiguous if several bear it.
            act: "set" it in place of all other values, "add" it beside them or "remove" it; if left out, set or add
                as the relation holds one value or many; AddOrSet where nobody said which.
            only: "graph" changes no system but those that read the graph.
            create: make a new subject or relation though its name is nearly one in use, else SimilarName.
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
        """Say how many values a relation holds for one subject, and how people call it, which a model reads."""
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
        """Change one memory in a way of its own, such as a rule or the senses of a word.

        Args:
            kind: one of the memory's kinds; `models` lists them with their fields.
            change: the fields of that kind.
            question: asked to see whether the change works, and kept as a fact test with its `answer`.
            model: which system is asked; by default the first that reads the memory.
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

    def revert(self, version: int, **options: Unpack[CommitOptions]) -> Call[wire.EditReceipt]:
        """Take one commit back, however old, in a new commit."""
        return commit("/admin/reverts", wire.RevertRequest, {"version": version, **options})

    def rollback(self, to: int, **options: Unpack[CommitOptions]) -> Call[wire.EditReceipt]:
        """Make version `to` the current one again, in a new commit."""
        return commit("/admin/rollbacks", wire.RollbackRequest, {"to": to, **options})
