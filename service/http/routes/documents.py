"""Documents at any version, and edits of them.

A document is sent as JSON, or as the file itself (text, Markdown, HTML or PDF) with everything else in the query.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, get_args

from errata import wire
from errata.tables.limits import MAX_FILE_BYTES
from errata.wire.documents import DOCUMENT, DOCUMENTS, FileType
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import ValidationError

from service.editing.operations import Edit, GetDocument, ListDocuments
from service.errors import InvalidInput, TooLarge, UnsupportedMediaType
from service.extraction.process import Extractor, Unreadable
from service.http.auth import get_caller
from service.http.body import (
    JSON_TYPE,
    Bounds,
    JsonBody,
    describe_invalid,
    read_body,
    read_idempotency_key,
)
from service.http.deployment_client import EditorClient
from service.http.middleware.audit import summarize
from service.http.openapi import document_commit, forward
from service.http.responses import respond

JSON_BOUNDS = Bounds(6_100_000, 100)  # bytes and parts; each escaped character takes six bytes
MAX_TITLE_CHARS = 200  # characters of a file's own title
MAX_TEXT_BYTES = 4 * wire.MAX_DOCUMENT_CHARS
TEXT_TYPES = ("text/plain", "text/markdown")
FILE_TYPES: tuple[str, ...] = get_args(FileType)
CHARSETS = {"", "utf-8", "utf8", "us-ascii", "ascii"}
TYPES_ADVICE = "send text/plain, text/markdown, text/html or application/pdf, or application/json with `text`"

DocumentPath = Annotated[wire.DocumentId, Path()]


@dataclass(frozen=True)
class DocumentBody(JsonBody[wire.DocumentRequest]):
    extractor: Extractor = field(default_factory=Extractor)

    async def __call__(  # type: ignore[override]  # FastAPI fills the query in
        self, request: Request, options: Annotated[wire.TextOptions, Query()]
    ) -> wire.DocumentRequest:
        media_type, _, parameters = request.headers.get("content-type", "").lower().partition(";")
        media_type = media_type.strip()
        if JSON_TYPE.fullmatch(media_type):
            if options.model_fields_set:
                name = min(options.model_fields_set)
                raise InvalidInput(
                    f"{name}: a body of JSON has it itself: leave it out of the query", field=name
                )
            return await super().__call__(request)
        fields = options.model_dump(exclude_unset=True)
        charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
        if media_type in FILE_TYPES:
            fields = {**await self._read_file(request, media_type, charset), **fields}
        elif media_type in TEXT_TYPES:
            if charset not in CHARSETS:
                raise UnsupportedMediaType(f"a text in {charset} is not read here: send UTF-8")
            fields |= {"text": await read_text(request), "media_type": media_type}
        else:
            kind = media_type or "a body of no type"
            raise UnsupportedMediaType(f"{kind} is not read here: {TYPES_ADVICE}")
        try:
            return wire.DocumentRequest.model_validate(fields)
        except ValidationError as error:
            raise describe_invalid(error) from error

    async def _read_file(self, request: Request, media_type: str, charset: str) -> dict[str, str]:
        detail = f"a file may have {MAX_FILE_BYTES:,} bytes: split it, or send its text"
        data = await read_body(request, TooLarge(detail, limit=MAX_FILE_BYTES), MAX_FILE_BYTES)
        try:
            file = await self.extractor.extract(media_type, data, charset)
        except Unreadable as error:
            raise InvalidInput(str(error)) from error
        if len(file.text) > wire.MAX_DOCUMENT_CHARS:
            raise _too_long()
        title = file.title[:MAX_TITLE_CHARS].strip()
        return {"text": file.text, **({"title": title} if title and title.isprintable() else {})}


def _too_long() -> TooLarge:
    detail = f"a document may have {wire.MAX_DOCUMENT_CHARS:,} characters: split it into several"
    return TooLarge(detail, limit=wire.MAX_DOCUMENT_CHARS)


async def read_text(request: Request) -> str:
    data = await read_body(request, _too_long(), MAX_TEXT_BYTES)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        detail = f"the body is no text in UTF-8: byte {error.start + 1:,} is 0x{data[error.start]:02x}"
        raise InvalidInput(f"{detail}; {TYPES_ADVICE}") from error


DocumentIn = Annotated[
    wire.DocumentRequest, Depends(DocumentBody(wire.DocumentRequest, JSON_BOUNDS, (*TEXT_TYPES, *FILE_TYPES)))
]


def build_documents_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["documents"])

    forward(router, editor, "GET /v1/documents", ListDocuments, 404)
    forward(router, editor, "GET /v1/documents/{id}", GetDocument, 404)
    return router


def build_document_edit_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["documents"])

    @router.put("/v1/documents/{id}", **document_commit(422))
    async def put_document(id: DocumentPath, body: DocumentIn, request: Request) -> Response:
        """Put a document, or another text in its place, in one commit. /admin/edits corrects a part of one."""
        change = {"id": id, "text": body.text, "media_type": body.media_type}
        change |= {"title": body.title} if body.title else {}
        return await _edit_document(editor, request, f"{len(body.text):,} characters", change, body)

    @router.delete("/v1/documents/{id}", **document_commit(422))
    async def remove_document(
        id: DocumentPath, options: Annotated[wire.RemovalOptions, Query()], request: Request
    ) -> Response:
        """Remove a document, in one commit; earlier versions keep it."""
        return await _edit_document(editor, request, "removed", {"id": id, "action": "remove"}, options)

    return router


async def _edit_document(
    editor: EditorClient,
    request: Request,
    summary: str,
    change: dict[str, Any],
    options: wire.DocumentRequest | wire.RemovalOptions,
) -> Response:
    trial = "tried: " if options.dry_run else ""
    summarize(request, f"{trial}document {change['id']!r}: {summary}")
    edits = wire.EditRequest(
        edits=[wire.MemoryItem(memory=DOCUMENTS, kind=DOCUMENT, change=change)],
        message=options.message,
        expected_version=options.expected_version,
        wait=options.wait,
        dry_run=options.dry_run,
    )
    author, key = get_caller(request).name, read_idempotency_key(request)
    return respond(await editor.call(Edit(edits, author, key, of_document=True)))
