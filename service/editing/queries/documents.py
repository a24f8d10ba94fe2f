"""Documents at a version: a list by id, and one document with its text."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from errata import wire

from models.documents.document import Document
from models.documents.memory import DOCUMENTS, DocumentsView
from service.editing.models import Models
from service.editing.operations import GetDocument, ListDocuments
from service.errors import NotFound, UnknownModel

if TYPE_CHECKING:
    from service.editing.editor import Editor


NO_READER = "no system that is served here reads documents: serve one that does, such as ernie-doc"


@ListDocuments.handler
async def list_documents(editor: Editor, call: ListDocuments) -> wire.DocumentList:
    documents, version = await _open(editor, call.version)
    ids = list(documents)  # in order of their ids
    start = 0 if call.after is None else bisect_right(ids, call.after)
    heads = [wire.DocumentHead(**_describe(id, documents[id])) for id in ids[start : start + call.limit]]
    return wire.DocumentList(version=version, total=len(ids), documents=heads)


@GetDocument.handler
async def get_document(editor: Editor, call: GetDocument) -> wire.DocumentState:
    documents, version = await _open(editor, call.version)
    document = documents.get(call.id)
    if document is None:
        raise NotFound(
            f"there is no document {call.id!r} at version {version}: /v1/documents lists those that there are",
            version=version,
        )
    return wire.DocumentState(**_describe(call.id, document), version=version, text=document.text)


def refuse_documents(models: Models) -> UnknownModel:
    return UnknownModel(NO_READER, models=list(models.names))


async def _open(editor: Editor, version: int | None) -> tuple[DocumentsView, int]:
    if DOCUMENTS not in editor.models.memories:
        raise refuse_documents(editor.models)
    return await editor.view_at(DOCUMENTS, version)


def _describe(id: str, document: Document) -> dict[str, Any]:
    return {
        "id": id,
        "title": document.title,
        "media_type": document.media_type,
        "characters": len(document.text),
        "digest": document.digest,
        "edits": list(document.edits),
    }
