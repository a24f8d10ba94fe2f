"""GET /admin/why and /admin/scope: the edits and facts behind an answer, and the edits near a question."""

from __future__ import annotations

from typing import Annotated

from errata.wire import LARGEST_VERSION, MAX_TEXT_CHARS, Answer, ScopeReport, WhyReport
from fastapi import APIRouter, Query, Response

from service.http.auth import RequestAccount
from service.http.auto import AutoRouter
from service.http.deployment_client import EditorClient
from service.http.openapi import document
from service.http.responses import respond
from service.http.routes.answers import answer_query

Question = Annotated[str, Query(min_length=1, max_length=MAX_TEXT_CHARS)]
Model = Annotated[str | None, Query(max_length=256)]
Version = Annotated[int | None, Query(ge=0, le=LARGEST_VERSION)]


def build_router(models: AutoRouter, editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["history"])

    @router.get("/admin/why", **document(WhyReport, 404, 413))
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
        answer = Answer.model_validate_json(outcome.body)
        return respond(await editor.why(question, answer.model_dump(mode="json"), answer.version))

    @router.get("/admin/scope", **document(ScopeReport, 404))
    async def get_scope(question: Question, model: Model = None, version: Version = None) -> Response:
        """List the edits that a question resembles most, and why each does or does not answer it, at any version."""
        return respond(await editor.scope(question, model, version))

    return router
