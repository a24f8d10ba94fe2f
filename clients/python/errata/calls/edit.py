"""Calls that write, each with a key that makes it safe to repeat: corrections, facts, documents, imports, reverts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, TypedDict, Unpack

from errata import wire
from errata.calls.method import Builder, Method
from errata.files import Progress, Upload
from errata.request import Call, FileBody, build, new_key, quote_part

MAX_SOURCE_CHARS = 200


class WriteOptions(TypedDict, total=False):
    """Options of every write; None has the effect of leaving one out. `wire.WriteRequest` describes them.

    Attributes:
        idempotency_key: The key of a write whose receipt was lost repeats it without making it twice.
    """

    message: str
    wait: wire.Wait
    dry_run: bool
    idempotency_key: str | None


class DocumentOptions(WriteOptions, total=False):
    """Options of a document."""

    expected_version: int | None


class CommitOptions(WriteOptions, total=False):
    """Options of a change that is measured; `wire.CommitRequest` describes them."""

    wait_report: bool
    strict: bool


class EditOptions(CommitOptions, total=False):
    """Options of an edit; `wire.EditRequest` describes them."""

    expected_version: int | None
    method: str | None
    options: dict[str, Any]
    review: date | None
    skip_refused: bool
    measure: bool


class ImportOptions(CommitOptions, total=False):
    """Options of an import; `wire.ImportOrder` describes them."""

    expected_version: int | None
    keep_corrections: bool
    subject: str
    sheet: str
    column: Sequence[str]


def commit(
    verb: Literal["POST", "PUT", "DELETE"],
    path: str,
    kind: type[wire.WriteRequest],
    options: Mapping[str, object],
    returns: Any = None,
    **content: Any,
) -> Call[Any]:
    """Describe a write of a `kind` with these fields, which are the query where `content` names another body.

    The idempotency key among the fields goes into the header.
    """
    fields = dict(options)
    key = fields.pop("idempotency_key", None)
    key = new_key() if key is None else build(wire.IdempotencyHeader, idempotency_key=key).idempotency_key
    order = build(kind, **fields)
    content["query" if content or verb == "DELETE" else "body"] = order
    kind_of_reply = returns or wire.EditReceipt
    return Call(verb, path, kind_of_reply, idempotency_key=key, reads=order.dry_run, slow=True, **content)


class EditCalls(Builder):
    """The part of `Calls` that writes; it needs the scope edit."""

    @Method
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
            paraphrases: Other wordings of the question.
            counterexamples: Questions that resemble it and ask for something else; the edit never answers them.
            replaces: Earlier edits that it replaces, by the version that made them or by id.
            tests: Questions that checks ask, with their expected answers; None for the answer given before the edit.
            model: The corrected model; None for the service's choice.
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

    @Method
    def edit_many(self, edits: Iterable[wire.Item], **options: Unpack[EditOptions]) -> Call[wire.EditReceipt]:
        """Make all edits, facts and definitions of relations in one commit, or none of them."""
        return commit("POST", "/admin/edits", wire.EditRequest, {"edits": list(edits), **options})

    @Method
    def fact(
        self,
        subject: str,
        relation: str,
        object: str,
        *,
        act: wire.Act | None = None,
        only: Literal["graph"] | None = None,
        create: bool = False,
        begin: str = "",
        end: str = "",
        time: str = "",
        unit: str = "",
        **options: Unpack[EditOptions],
    ) -> Call[wire.EditReceipt]:
        """Make this triple a fact for every system; `wire.FactItem` describes it.

        It raises Ambiguous if several entities have the name of the subject, AddOrSet where nothing says whether the
        value is set or added, and SimilarName for a new name that is nearly one in use.
        """
        fields = {"subject": subject, "relation": relation, "object": object}
        fields |= {"begin": begin, "end": end, "time": time, "unit": unit}
        return self.edit_many([build(wire.FactItem, **fields, act=act, only=only, create=create)], **options)

    @Method
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

    @Method
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

        `wire.MemoryItem` describes it, and `models` lists the kinds of each memory with their fields.
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

    @Method
    def revert(
        self, version: int | None = None, *, edits: Iterable[str] = (), **options: Unpack[CommitOptions]
    ) -> Call[wire.EditReceipt]:
        """Take one commit back, however old, or single edits by their ids, in a new commit."""
        fields = {"version": version, "edits": list(edits), **options}
        return commit("POST", "/admin/reverts", wire.RevertRequest, fields)

    @Method
    def rollback(self, to: int, **options: Unpack[CommitOptions]) -> Call[wire.EditReceipt]:
        """Make version `to` the current one again, in a new commit."""
        return commit("POST", "/admin/rollbacks", wire.RollbackRequest, {"to": to, **options})

    @Method
    def import_graph(
        self,
        file: str | Path | BinaryIO,
        *,
        format: wire.Format | None = None,
        language: str = "en",
        source: str | None = None,
        progress: Progress | None = None,
        **options: Unpack[ImportOptions],
    ) -> Call[wire.ImportReceipt]:
        """Fill the graph from a file of triples or a table, in one commit. The file is streamed, never held whole.

        Args:
            file: A path, or a file open for reading bytes.
            format: The format; None lets the service detect it.
            language: Language of the labels that are taken.
            source: Name of the file in the log; None for its own name.
            progress: Is called with the bytes sent, in the phase "sending", then with the service's phases.
        """
        if source is None:
            name = file if isinstance(file, str) else getattr(file, "name", None)
            source = Path(name).name if isinstance(name, str) else ""
        fields = {"format": format, "language": language, "source": source[-MAX_SOURCE_CHARS:], **options}
        path, upload = "/admin/graph/import", Upload(file, progress)
        return commit("POST", path, wire.ImportOrder, fields, wire.ImportReceipt, upload=upload)

    @Method
    def put_document(
        self,
        id: str,
        text: str,
        *,
        title: str | None = None,
        media_type: wire.MediaType = "text/plain",
        **options: Unpack[DocumentOptions],
    ) -> Call[wire.EditReceipt]:
        """Put a document that models answer from, or replace its text."""
        fields = {"text": text, "title": title, "media_type": media_type, **options}
        return commit("PUT", _document_path(id), wire.DocumentRequest, fields)

    @Method
    def put_document_file(
        self,
        id: str,
        data: bytes,
        media_type: wire.FileType,
        *,
        title: str | None = None,
        **options: Unpack[DocumentOptions],
    ) -> Call[wire.EditReceipt]:
        """Put a document whose text the service reads from an HTML page or a PDF of up to 20,000,000 bytes."""
        file = FileBody(data, media_type)
        return commit("PUT", _document_path(id), wire.TextOptions, {"title": title, **options}, file=file)

    @Method
    def remove_document(self, id: str, **options: Unpack[DocumentOptions]) -> Call[wire.EditReceipt]:
        """Remove a document; earlier versions keep it."""
        return commit("DELETE", _document_path(id), wire.RemovalOptions, options)


def _document_path(id: str) -> str:
    return f"/v1/documents/{quote_part(wire.DocumentId, id=id)}"
