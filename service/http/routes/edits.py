"""The admin routes of edits: those that change or run something."""

from __future__ import annotations

from typing import Annotated

from errata import wire
from fastapi import APIRouter, Request, Response

from service.editing.operations import Edit, RunChecks, Undo
from service.errors import MAX_NAMED
from service.http.auth import get_caller
from service.http.body import EDITS, json_body, read_idempotency_key
from service.http.deployment_client import EditorClient
from service.http.middleware.audit import summarize
from service.http.openapi import document_commit, forward
from service.http.responses import respond

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
