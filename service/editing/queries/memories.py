"""Documents at a version: a list by id, and one document with its text.

Senses of words at a version, from systems that have them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from errata.wire import DocumentHead, DocumentList, DocumentState

from models.documents.document import Document
from models.documents.memory import DOCUMENTS, DocumentsView
from service.editing.models import Models
from service.editing.operations import GetDocument, ListDocuments
from service.errors import NotFound, UnknownModel

if TYPE_CHECKING:
    from service.editing.editor import Editor
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from errata.wire import WordSenses

from models.senses import BadInquiry, HasSenses, SensesInquiry
from service.editing.models import ModelAtVersion
from service.editing.operations import GetSenses
from service.errors import InvalidInput

if TYPE_CHECKING:
    from service.editing.editor import Editor

NO_READER = "no system that is served here reads documents: serve one that does, such as ernie-doc"


@ListDocuments.handler
async def list_documents(editor: Editor, call: ListDocuments) -> DocumentList:
    documents, version = await _open(editor, call.version)
    ids = list(documents)  # in order of their ids
    start = 0 if call.after is None else bisect_right(ids, call.after)
    heads = [DocumentHead(**_describe(id, documents[id])) for id in ids[start : start + call.limit]]
    return DocumentList(version=version, total=len(ids), documents=heads)


@GetDocument.handler
async def get_document(editor: Editor, call: GetDocument) -> DocumentState:
    documents, version = await _open(editor, call.version)
    document = documents.get(call.id)
    if document is None:
        detail = (
            f"there is no document {call.id!r} at version {version}: /v1/documents lists those that there are"
        )
        raise NotFound(detail, version=version)
    return DocumentState(**_describe(call.id, document), version=version, text=document.text)


def refuse_documents(models: Models) -> UnknownModel:
    """Return the error of a service that reads no documents."""
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


NO_SENSES = "no model that is served here has words with senses: serve one that does, such as backpack"
FIELDS = {"senses": "sense"}  # field of an inquiry -> field of the wire, where their names differ


@GetSenses.handler
async def show_senses(editor: Editor, call: GetSenses) -> WordSenses:
    request, state = call.query, await editor.state_at(call.query.version)
    name, model = find_model(state.models, request.model)
    senses = () if request.sense is None else (request.sense,)
    inquiry = SensesInquiry(request.word, senses, request.top_k, request.exact, request.first_piece)
    try:
        word = await model.run(cast(HasSenses, model.system).show_senses, inquiry, model.views)
    except BadInquiry as error:
        field = FIELDS.get(error.field, error.field)
        raise InvalidInput(f"{field}: {error}", field=field) from error
    return WordSenses(model=name, version=state.version, **asdict(word))


def find_model(models: Mapping[str, ModelAtVersion], name: str | None) -> tuple[str, ModelAtVersion]:
    """Return the named model, or the first one whose words have senses."""
    with_senses = [other for other, model in models.items() if isinstance(model.system, HasSenses)]
    if name is None:
        if not with_senses:
            raise UnknownModel(NO_SENSES, models=list(models))
        name = with_senses[0]
    if name not in models:
        names = ", ".join(models)
        raise UnknownModel(f"there is no model {name!r} here: there is {names}", models=list(models))
    if name not in with_senses:
        advice = f"ask {with_senses[0]}" if with_senses else NO_SENSES
        raise InvalidInput(f"the words of {name!r} have no senses: {advice}", field="model")
    return name, models[name]
