"""The admin routes that read the history of edits."""

from __future__ import annotations

from typing import Annotated

from errata import wire
from fastapi import APIRouter, Query, Response

from service.editing import operations as calls
from service.http.auth import RequestAccount
from service.http.auto import AutoRouter
from service.http.deployment_client import EditorClient
from service.http.openapi import document, forward
from service.http.responses import respond
from service.http.routes.answers import answer_query

Question = Annotated[str, Query(min_length=1, max_length=wire.MAX_TEXT_CHARS)]
Model = Annotated[str | None, Query(max_length=256)]
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
    ) -> Response:
        """Ask a question, at any version, and return the edits and facts behind the answer, and the one without."""
        fields = {"question": question, "model": model, "version": version, "min_version": min_version}
        outcome = await answer_query(models, account, fields)
        if outcome.status >= 400:
            return respond(outcome)
        answer = wire.Answer.model_validate_json(outcome.body)
        return respond(await editor.call(calls.ExplainAnswer(question, answer)))

    forward(router, editor, "GET /admin/scope", calls.GetScope, 404)
    forward(router, editor, "GET /admin/reviews", calls.ListReviews)
    forward(router, editor, "GET /admin/hits", calls.ListHits)
    return router
