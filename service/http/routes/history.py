"""The routes that read the history: commits, edits, the difference of two versions, fact tests, replicas, tags."""

from __future__ import annotations

from typing import Annotated

from errata.wire import LARGEST_VERSION, MAX_TEXT_CHARS, Answer, Tag, TagName, TagRequest, WhyReport
from fastapi import APIRouter, Path, Query, Request, Response

from service.editing import operations as calls
from service.http.auth import RequestAccount, get_caller
from service.http.auto import AutoRouter
from service.http.body import json_body
from service.http.deployment_client import EditorClient
from service.http.forward import forward
from service.http.middleware.audit import summarize
from service.http.openapi import document
from service.http.responses import respond
from service.http.routes.answers import answer_query

Name = Annotated[TagName, Path(description="The tag.")]
TagBody = Annotated[TagRequest, json_body(TagRequest)]
Question = Annotated[str, Query(min_length=1, max_length=MAX_TEXT_CHARS)]
Model = Annotated[str | None, Query(max_length=256)]
Version = Annotated[int | None, Query(ge=0, le=LARGEST_VERSION)]


def build_router(models: AutoRouter, editor: EditorClient) -> APIRouter:
    """Build the routes that read."""
    router = APIRouter(tags=["history"])
    forward(router, editor, "GET /admin/edits", calls.ListActiveEdits, 413)
    forward(router, editor, "GET /admin/edits/{id}", calls.GetEdit, 404)
    forward(router, editor, "GET /admin/versions", calls.ListVersions)
    forward(router, editor, "GET /admin/versions/{version}", calls.GetVersion, 404)
    forward(router, editor, "GET /admin/diff", calls.CompareVersions, 404)
    forward(router, editor, "GET /admin/checks", calls.GetChecks, 404)
    forward(router, editor, "GET /admin/replicas", calls.ListReplicas)
    forward(router, editor, "GET /admin/tags", calls.ListTags)

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
        return respond(await editor.call(calls.ExplainAnswer(question, answer)))

    forward(router, editor, "GET /admin/scope", calls.GetScope, 404)
    forward(router, editor, "GET /admin/reviews", calls.ListReviews)
    forward(router, editor, "GET /admin/hits", calls.ListHits)
    return router


def build_tag_router(editor: EditorClient) -> APIRouter:
    """Build the routes that change tags."""
    router = APIRouter(tags=["history"])

    @router.put("/admin/tags/{name}", **document(Tag, 404))
    async def put_tag(name: Name, body: TagBody, request: Request) -> Response:
        """Give a version this name, or move the name there."""
        summarize(request, f"version {body.version}")
        return respond(await editor.call(calls.PutTag(name, body.version, get_caller(request).name)))

    forward(router, editor, "DELETE /admin/tags/{name}", calls.DeleteTag, 404)
    return router
