"""The admin routes that read the history of edits."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from errata import wire
from fastapi import APIRouter, Query, Response

from service.editing import operations as calls
from service.http.auth import RequestAccount
from service.http.auto import AnyQuestion, AutoRouter
from service.http.deployment_client import EditorClient
from service.http.openapi import document, forward
from service.http.responses import respond
from service.http.routes.answers import prepare_query
from service.http.upstream_answers import UpstreamQuestion
from service.outcome import Outcome

Question = Annotated[str, Query(min_length=1, max_length=wire.MAX_TEXT_CHARS)]
Model = Annotated[str | None, Query(max_length=256)]
Day = Annotated[str | None, Query(max_length=32)]
Version = Annotated[int | None, Query(ge=0, le=wire.LARGEST_VERSION)]


def build_history_router(models: AutoRouter, editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["history"])
    forward(router, editor, "GET /admin/edits", calls.ListActiveEdits, 404, 413)
    forward(router, editor, "GET /admin/edits/{id}", calls.GetEdit, 404)
    forward(router, editor, "GET /admin/versions", calls.ListVersions)
    forward(router, editor, "GET /admin/versions/{version}", calls.GetVersion, 404)
    forward(router, editor, "GET /admin/diff", calls.CompareVersions, 404)
    forward(router, editor, "GET /admin/checks", calls.GetChecks, 404)
    forward(router, editor, "GET /admin/replicas", calls.ListReplicas)
    forward(router, editor, "GET /admin/tags", calls.ListTags)

    @router.get("/admin/why", **document(wire.WhyReport, 404, 413))
    async def explain_answer(
        question: Question,
        account: RequestAccount,
        model: Model = None,
        version: Version = None,
        min_version: Version = None,
        as_of: Day = None,
    ) -> Response:
        """Ask a question at a version and of a day; return the edits and facts of the answer, and the one without."""
        fields = {"question": question, "model": model, "version": version, "min_version": min_version}
        inquiry = await prepare_query(models, account, {**fields, "as_of": as_of})
        return respond(await explain_inquiry(models, editor, question, inquiry))

    forward(router, editor, "GET /admin/scope", calls.GetScope, 404)
    forward(router, editor, "GET /admin/reviews", calls.ListReviews)
    forward(router, editor, "GET /admin/hits", calls.ListHits)
    return router


async def explain_inquiry(
    models: AutoRouter, editor: EditorClient, question: str, inquiry: AnyQuestion
) -> Outcome:
    """Return the report of an answer; an upstream's model is the base there, in place of the memory's model."""
    outcome = await models.answer(inquiry)
    if outcome.status >= 400:
        return outcome
    answer = wire.Answer.model_validate_json(outcome.body)
    if not isinstance(inquiry, UpstreamQuestion):
        return await editor.call(calls.ExplainAnswer(question, answer))
    edits = list(dict.fromkeys([*answer.edits, *(fact.edit for fact in answer.facts)]))
    by_memory = answer.model_copy(update={"model": inquiry.parts[0].model, "edits": edits})
    outcome = await editor.call(calls.ExplainAnswer(question, by_memory))
    if outcome.status >= 400:
        return outcome
    report = wire.WhyReport.model_validate_json(outcome.body).model_copy(update={"answer": answer})
    if report.without is not None and not report.without.edits:
        bare = await models.answer(replace(inquiry, takes_edits=False))
        text = None if bare.status >= 400 else wire.Answer.model_validate_json(bare.body).answer
        report = report.model_copy(update={"without": text and wire.Remainder(answer=text, edits=[])})
    return Outcome.ok(report)
