"""Why a question is answered as it is: the edits that it may ask for, and the causes of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from errata import wire

from models.capabilities import HasScope
from service.editing.draft import Build, Draft, EditorState
from service.editing.evaluation.lineage import version_of
from service.editing.figures import Timings
from service.editing.models import Models
from service.editing.operations import ExplainAnswer, GetScope
from service.editing.plans.edit import EditPlan
from service.editing.queries.history import describe_edit
from service.editing.state_builder import StateBuilder
from service.errors import ErrataError, UnknownModel
from service.ledger import fold
from service.ledger.fold import Change

if TYPE_CHECKING:
    from service.editing.editor import Editor


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
    remaining = (await without.models[answer.model].ask([question], answer.as_of))[question]
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
