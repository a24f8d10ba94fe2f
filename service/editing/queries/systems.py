"""Documents at a version: a list by id, and one document with its text. Senses of words, from systems that have them.

Why a question is answered as it is: the edits that it may ask for, and the causes of its answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from errata import wire

from models.capabilities import HasScope
from models.documents.document import Document
from models.documents.memory import DOCUMENTS, DocumentsView
from models.senses import BadInquiry, HasSenses, SensesInquiry
from service.editing.draft import Build, Draft, EditorState
from service.editing.evaluation.lineage import version_of
from service.editing.figures import Timings
from service.editing.models import ModelAtVersion, Models
from service.editing.operations import ExplainAnswer, GetDocument, GetScope, GetSenses, ListDocuments
from service.editing.plans.edit import EditPlan
from service.editing.queries.history import describe_edit
from service.editing.state_builder import StateBuilder
from service.errors import ErrataError, InvalidInput, NotFound, UnknownModel
from service.ledger import fold
from service.ledger.fold import Change

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
        detail = (
            f"there is no document {call.id!r} at version {version}: /v1/documents lists those that there are"
        )
        raise NotFound(detail, version=version)
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


NO_SENSES = "no model that is served here has words with senses: serve one that does, such as backpack"
FIELDS = {"senses": "sense"}  # field of an inquiry -> field of the wire, where their names differ


@GetSenses.handler
async def show_senses(editor: Editor, call: GetSenses) -> wire.WordSenses:
    request, state = call.query, await editor.state_at(call.query.version)
    name, model = find_model(state.models, request.model)
    senses = () if request.sense is None else (request.sense,)
    inquiry = SensesInquiry(request.word, senses, request.top_k, request.exact, request.first_piece)
    try:
        word = await model.run(cast(HasSenses, model.system).show_senses, inquiry, model.views)
    except BadInquiry as error:
        field = FIELDS.get(error.field, error.field)
        raise InvalidInput(f"{field}: {error}", field=field) from error
    return wire.WordSenses(model=name, version=state.version, **asdict(word))


def find_model(models: Mapping[str, ModelAtVersion], name: str | None) -> tuple[str, ModelAtVersion]:
    """Return the named model, or the first one whose words have senses."""
    with_senses = [other for other, model in models.items() if isinstance(model.system, HasSenses)]
    if name is None:
        if not with_senses:
            raise UnknownModel(NO_SENSES, models=list(models))
        name = with_senses[0]
    if name not in models:
        raise UnknownModel.of(name, models)
    if name not in with_senses:
        advice = f"ask {with_senses[0]}" if with_senses else NO_SENSES
        raise InvalidInput(f"the words of {name!r} have no senses: {advice}", field="model")
    return name, models[name]


@GetScope.handler
async def examine_scope(editor: Editor, call: GetScope) -> wire.ScopeReport:
    state, question, model = await editor.state_at(call.version), call.question, call.model
    with_scope = [
        name for name, at_version in state.models.items() if isinstance(at_version.system, HasScope)
    ]
    name = model or (with_scope[0] if with_scope else next(iter(state.models)))
    if name not in state.models:
        raise UnknownModel.of(name, state.models)
    verdicts = await state.models[name].examine_scope(question)
    candidates = []
    for verdict in verdicts:
        record = state.edits[verdict.edit]
        commit = fold.find(state.commits, version_of(record))
        candidates.append(
            wire.ScopeCandidate(
                edit=verdict.edit,
                owner=verdict.owner,
                question=verdict.question,
                answer=record.answer,
                cosine=verdict.cosine,
                probability=verdict.probability,
                verdict=verdict.verdict,
                version=commit.version,
                author=commit.author,
                message=commit.message,
            )
        )
    answering = next((c.edit for c in candidates if c.verdict == "answers"), None)
    return wire.ScopeReport(version=state.version, model=name, edit=answering, candidates=candidates)


@ExplainAnswer.handler
async def explain_answer(editor: Editor, call: ExplainAnswer) -> wire.WhyReport:
    question, answer = call.question, call.answer
    state, builder = await editor.state_at(answer.version), editor.builder
    model = state.models[answer.model]
    has_verdicts = answer.edits and isinstance(model.system, HasScope)
    verdicts = await model.examine_scope(question) if has_verdicts else []
    causes = []
    for edit in answer.edits:
        verdict = next((v for v in verdicts if v.edit == edit and v.verdict == "answers"), None)
        match = (
            {"owner": verdict.owner, "wording": verdict.question, "probability": verdict.probability}
            if verdict
            else {}
        )
        causes.append(wire.Cause.model_validate({**dict(describe_edit(state, edit)), **match}))
    causes = await editor.upkeep.note_details(causes)
    facts = [fact for fact in answer.facts if not fact.edit]
    without = await _build_without(answer.edits, facts, state, builder, editor.models)
    if without is None:
        return wire.WhyReport(answer=answer, causes=causes, facts=facts)
    remaining = (await without.models[answer.model].ask([question]))[question]
    remainder = wire.Remainder(answer=remaining.text, edits=list(remaining.edits))
    return wire.WhyReport(answer=answer, causes=causes, facts=facts, without=remainder)


async def _build_without(
    edits: Sequence[str],
    facts: Sequence[wire.AnswerFact],
    state: EditorState,
    builder: StateBuilder,
    models: Models,
) -> Build | None:
    """Return the state without these edits or, if there are none, without these facts; None without both."""
    active = tuple(edit for edit in edits if edit in state.active)
    if active:
        return await builder.build(state, Draft(Change((), active)))
    if not facts:
        return None
    items = [
        wire.FactItem(subject=f.entity, relation=f.relation, object=f.object, act="remove", only="graph")
        for f in facts
    ]
    try:
        plan = EditPlan(wire.EditRequest(edits=list(items), dry_run=True), models)
        return await plan.build(state, builder, Timings())
    except ErrataError:  # names of the fact mean several entities
        return None
