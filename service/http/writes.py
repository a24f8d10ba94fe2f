"""The admin routes that change something or run something: edits, reverts, rollbacks, checks."""

from __future__ import annotations

from typing import Any

from errata.wire import (
    CheckReport,
    EditItem,
    EditReceipt,
    EditRequest,
    IdempotencyHeader,
    Item,
    RevertRequest,
    RollbackRequest,
)
from errata.wire import Request as Wire
from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError

from service.errors import InvalidInput
from service.http.audited import describe
from service.http.body import ADMIN_LIMIT, parsed, refusal
from service.http.callee import Callee
from service.http.callers import Guard, caller
from service.http.openapi import describes
from service.http.outcomes import respond

LIMIT_S = 600.0  # a thousand edits, each measured before and after
REFUSALS = (400, 401, 403, 404, 408, 409, 413, 422, 429, 503)


def routes(editor: Callee, may_edit: Guard) -> APIRouter:
    router = APIRouter(tags=["editing"], dependencies=[Depends(may_edit)])

    async def commit(method: str, kind: type[Wire], request: Request) -> Response:
        repeats = repetition(request)
        asked = await parsed(kind, request, ADMIN_LIMIT)
        describe(request, in_words(asked))
        plain = asked.model_dump(mode="json")
        return respond(await editor.call(method, plain, caller(request).name, repeats, limit_s=LIMIT_S))

    @router.post("/admin/edits", **_commits(EditRequest))
    async def edit(request: Request) -> Response:
        """Make one commit of all edits, or none. 409 `stale_version`: read the version again and repeat."""
        return await commit("edit", EditRequest, request)

    @router.post("/admin/reverts", **_commits(RevertRequest))
    async def revert(request: Request) -> Response:
        """Take one commit back, however old, in a new commit."""
        return await commit("revert", RevertRequest, request)

    @router.post("/admin/rollbacks", **_commits(RollbackRequest))
    async def rollback(request: Request) -> Response:
        """Make an old version the current one, as a new commit."""
        return await commit("rollback", RollbackRequest, request)

    @router.post("/admin/checks", **describes(None, CheckReport, 401, 403, 422, 429, 503))
    async def check(superseded: bool = False) -> Response:
        """Run the fact tests of every active edit. `superseded` lists those that a later edit answers anew, too."""
        return respond(await editor.call("check", True, superseded, limit_s=LIMIT_S))

    return router


def in_words(asked: Wire) -> str:
    """What is asked for, for whoever reads the audit."""
    match asked:
        case EditRequest(edits=[first, *others], message=message):
            more = f" and {len(others):,} more" if others else ""
            trial = "tried: " if asked.dry_run or not asked.measure else ""
            return f"{trial}{_item(first)}{more}{_why(message)}"
        case RevertRequest(version=version):
            return f"version {version} taken back"
        case RollbackRequest(to=to):
            return f"back to version {to}"
        case _:
            return ""


def _item(item: Item) -> str:
    if isinstance(item, EditItem):
        return f"{item.question!r} -> {item.answer!r}"
    said = item.model_dump(exclude_unset=True)
    return " ".join(str(value) for value in said.values())


def _why(message: str) -> str:
    return f" ({message})" if message else ""


def _commits(kind: type[Wire]) -> dict[str, Any]:
    described = describes(kind, EditReceipt, *REFUSALS, status=201)
    described["responses"][202] = {
        "model": EditReceipt,
        "description": "Committed; not every replica has it yet",
    }
    if "dry_run" in kind.model_fields:
        described["responses"][200] = {"model": EditReceipt, "description": "Measured; nothing is committed"}
    return described


def repetition(request: Request) -> str | None:
    """The Idempotency-Key, if there is one. InvalidInput."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    try:
        return IdempotencyHeader(idempotency_key=key).idempotency_key
    except ValidationError as error:
        detail = "the Idempotency-Key may have 1 to 200 printable characters without spaces"
        raise InvalidInput(f"{detail}: {refusal(error).detail}") from error
