"""The reasons of an answer: the edits and facts behind it, and the answer without them."""

from __future__ import annotations

from collections.abc import Sequence

from errata.wire import Answer, AnswerFact, Cause, EditRequest, FactItem, Remainder, WhyReport

from models.system import HasScope
from service.editing.draft import Build, Draft
from service.editing.models import Models
from service.editing.plans.edit import EditPlan
from service.editing.queries.versions import Versions
from service.editing.state import EditorState
from service.editing.state_builder import StateBuilder
from service.editing.timings import Timings
from service.errors import ErrataError
from service.ledger.fold import Change


async def explain_answer(
    question: str, answer: Answer, state: EditorState, builder: StateBuilder, models: Models
) -> WhyReport:
    """Explain an answer that a replica has just given.

    Args:
        question: The question.
        answer: The answer, of a version that `state` has.
        state: The newest state.
        builder: Folds the state without the causes of the answer.
        models: The served models.
    """
    model = state.models[answer.model]
    has_verdicts = answer.edits and isinstance(model.system, HasScope)
    verdicts = await model.examine_scope(question) if has_verdicts else []
    versions = Versions(state)
    causes = []
    for edit in answer.edits:
        verdict = next((v for v in verdicts if v.edit == edit and v.verdict == "answers"), None)
        match = (
            {"owner": verdict.owner, "wording": verdict.question, "probability": verdict.probability}
            if verdict
            else {}
        )
        causes.append(Cause.model_validate({**dict(versions.edit(edit)), **match}))
    facts = [fact for fact in answer.facts if not fact.edit]
    without = await _build_without(answer.edits, facts, state, builder, models)
    if without is None:
        return WhyReport(answer=answer, causes=causes, facts=facts)
    remaining = (await without.models[answer.model].ask([question]))[question]
    remainder = Remainder(answer=remaining.text, edits=list(remaining.edits))
    return WhyReport(answer=answer, causes=causes, facts=facts, without=remainder)


async def _build_without(
    edits: Sequence[str],
    facts: Sequence[AnswerFact],
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
        FactItem(subject=f.entity, relation=f.relation, object=f.object, act="remove", only="graph")
        for f in facts
    ]
    try:
        plan = EditPlan(EditRequest(edits=list(items), dry_run=True), models)
        return await plan.build(state, builder, Timings())
    except ErrataError:  # names of the fact mean several entities
        return None
