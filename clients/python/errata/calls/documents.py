"""Calls that put, read, list and remove documents; `change` extends and corrects them."""

from __future__ import annotations

from typing import TypedDict, Unpack

from errata import wire
from errata.calls.edits import take_key
from errata.request import Call, FileBody, build, to_query
from errata.wire import MediaType, Request, Version, Wait
from errata.wire.documents import DocumentId, FileType


class DocumentOptions(TypedDict, total=False):
    """Options of a write, as in `EditOptions`."""

    message: str
    expected_version: int | None
    wait: Wait
    dry_run: bool
    idempotency_key: str | None


class _DocumentAt(Request):
    id: DocumentId
    version: Version | None = None


class _DocumentPage(Request):
    limit: int = 100
    after: DocumentId | None = None
    version: Version | None = None


class DocumentCalls:
    """The part of `Calls` that is about documents."""

    def put_document(
        self,
        id: str,
        text: str,
        *,
        title: str | None = None,
        media_type: MediaType = "text/plain",
        **options: Unpack[DocumentOptions],
    ) -> Call[wire.EditReceipt]:
        """Put a document that models answer from, or replace its text.

        Args:
            id: Up to 128 letters, digits and . _ -; a question names it as its `document`.
            text: Up to a million characters of plain text or Markdown.
            title: A title for people.
            media_type: The text's media type.
            **options: Options of the write.
        """
        fields: dict[str, object] = {**options}
        key = take_key(fields)
        body = build(wire.DocumentRequest, text=text, title=title, media_type=media_type, **fields)
        return Call(
            "PUT",
            _path(id),
            wire.EditReceipt,
            body,
            idempotency_key=key,
            reads=body.dry_run,
            slow=True,
        )

    def put_document_file(
        self,
        id: str,
        data: bytes,
        media_type: FileType,
        *,
        title: str | None = None,
        **options: Unpack[DocumentOptions],
    ) -> Call[wire.EditReceipt]:
        """Put a document whose text the service reads from an HTML page or a PDF.

        Args:
            id: The id, as in `put_document`.
            data: The file, up to 20,000,000 bytes.
            media_type: The file's media type.
            title: A title in place of the file's own.
            **options: Options of the write.
        """
        fields: dict[str, object] = {**options}
        key = take_key(fields)
        query = build(wire.TextOptions, title=title, **fields)
        return Call(
            "PUT",
            _path(id),
            wire.EditReceipt,
            file=FileBody(data, media_type),
            query=to_query(**query.model_dump(exclude_defaults=True)),
            idempotency_key=key,
            reads=query.dry_run,
            slow=True,
        )

    def remove_document(self, id: str, **options: Unpack[DocumentOptions]) -> Call[wire.EditReceipt]:
        """Remove a document; earlier versions keep it."""
        fields: dict[str, object] = {**options}
        key = take_key(fields)
        order = build(wire.RemovalOptions, **fields)
        return Call(
            "DELETE",
            _path(id),
            wire.EditReceipt,
            query=to_query(**order.model_dump(exclude_defaults=True)),
            idempotency_key=key,
            reads=order.dry_run,
            slow=True,
        )

    def get_document(self, id: str, *, version: int | None = None) -> Call[wire.DocumentState]:
        """Return one document with its text, at a version or now."""
        return Call("GET", _path(id, version), wire.DocumentState, query=to_query(version=version))

    def list_documents(
        self, *, limit: int = 100, after: str | None = None, version: int | None = None
    ) -> Call[wire.DocumentList]:
        """List documents without their texts, by id, from the one that follows `after`."""
        page = build(_DocumentPage, limit=limit, after=after, version=version)
        query = to_query(**page.model_dump(exclude_defaults=True))
        return Call("GET", "/v1/documents", wire.DocumentList, query=query)


def _path(id: str, version: int | None = None) -> str:
    return f"/v1/documents/{build(_DocumentAt, id=id, version=version).id}"
