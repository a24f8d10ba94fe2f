"""The admin routes of edits: those that change or run something, and those that read the history."""

from __future__ import annotations

from typing import Annotated

from errata import wire
from fastapi import APIRouter, Path, Query, Request, Response

from service.editing import operations as calls
from service.editing.operations import Edit, RunChecks, Undo
from service.errors import MAX_NAMED
from service.http.auth import RequestAccount, get_caller
from service.http.auto import AutoRouter
from service.http.body import EDITS, json_body, read_idempotency_key
from service.http.deployment_client import EditorClient
from service.http.middleware.audit import summarize
from service.http.openapi import document, document_commit, forward
from service.http.responses import respond
from service.http.routes.answers import answer_query

EditBody = Annotated[wire.EditRequest, json_body(wire.EditRequest, EDITS)]
RevertBody = Annotated[wire.RevertRequest, json_body(wire.RevertRequest)]
RollbackBody = Annotated[wire.RollbackRequest, json_body(wire.RollbackRequest)]


def build_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["editing"])

    @router.post("/admin/edits", **document_commit())
    async def edit(body: EditBody, request: Request) -> Response:
        """Make one commit of all edits, or none. 409 `stale_version`: read the version again and repeat."""
        summarize(request, _summarize_edits(body))
        author, key = get_caller(request).name, read_idempotency_key(request)
        return respond(await editor.call(Edit(body, author, key)))

    @router.post("/admin/reverts", **document_commit())
    async def revert(body: RevertBody, request: Request) -> Response:
        """Take one commit back, however old, or single edits by their ids, in a new commit."""
        subject = f"edits {', '.join(body.edits[:MAX_NAMED])}" if body.edits else f"version {body.version}"
        summarize(request, f"{_trial(body.dry_run)}{subject} taken back")
        author, key = get_caller(request).name, read_idempotency_key(request)
        return respond(await editor.call(Undo(body, author, key)))

    @router.post("/admin/rollbacks", **document_commit())
    async def rollback(body: RollbackBody, request: Request) -> Response:
        """Make an old version the current one, as a new commit."""
        summarize(request, f"{_trial(body.dry_run)}back to version {body.to}")
        author, key = get_caller(request).name, read_idempotency_key(request)
        return respond(await editor.call(Undo(body, author, key)))

    forward(router, editor, "POST /admin/checks", RunChecks)
    return router


def _trial(is_trial: bool) -> str:
    return "tried: " if is_trial else ""


def _summarize_edits(request: wire.EditRequest) -> str:
    first, *rest = request.edits
    trial = _trial(request.dry_run or not request.measure)
    count = f" and {len(rest):,} more" if rest else ""
    message = f" ({request.message})" if request.message else ""
    if isinstance(first, wire.EditItem):
        item = f"{first.question!r} -> {first.answer!r}"
    else:
        item = " ".join(str(value) for value in first.model_dump(exclude_unset=True).values())
    return f"{trial}{item}{count}{message}"


Name = Annotated[wire.TagName, Path(description="The tag.")]
TagBody = Annotated[wire.TagRequest, json_body(wire.TagRequest)]
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


def build_tag_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["history"])

    @router.put("/admin/tags/{name}", **document(wire.Tag, 404))
    async def put_tag(name: Name, body: TagBody, request: Request) -> Response:
        """Give a version this name, or move the name there."""
        summarize(request, f"version {body.version}")
        return respond(await editor.call(calls.PutTag(name, body.version, get_caller(request).name)))

    forward(router, editor, "DELETE /admin/tags/{name}", calls.DeleteTag, 404)
    return router
