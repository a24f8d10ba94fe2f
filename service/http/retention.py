"""The admin routes about which versions stay."""

from __future__ import annotations

from errata.wire import Compaction, CompactionRequest, Retained
from fastapi import APIRouter, Depends, Request, Response

from service.http.audited import describe
from service.http.body import ADMIN_LIMIT, parsed
from service.http.callee import Callee
from service.http.callers import Guard
from service.http.openapi import describes
from service.http.outcomes import respond

PATH = "/admin/compactions"
LIMIT_S = 600.0  # a compaction looks at every row that was ever written


def routes(editor: Callee, may_read: Guard, may_admin: Guard) -> APIRouter:
    router = APIRouter(tags=["history"])

    @router.get(PATH, dependencies=[Depends(may_read)], **describes(None, Retained, 401, 403, 429, 503))
    async def retained() -> Response:
        """Which versions can be asked."""
        return respond(await editor.call("retained", limit_s=LIMIT_S))

    @router.post(
        PATH,
        dependencies=[Depends(may_admin)],
        **describes(CompactionRequest, Compaction, 400, 401, 403, 408, 413, 422, 429, 503),
    )
    async def compact(request: Request) -> Response:
        """Drop the rows of old versions. Commits stay, and a tag brings a version back."""
        asked = await parsed(CompactionRequest, request, ADMIN_LIMIT)
        describe(request, in_words(asked))
        return respond(await editor.call("compact", asked.model_dump(mode="json"), limit_s=LIMIT_S))

    return router


def in_words(asked: CompactionRequest) -> str:
    said = [f"the newest {asked.versions:,}"] if asked.versions is not None else []
    said += [f"{asked.days:g} days"] if asked.days is not None else []
    return f"{'tried: ' if asked.dry_run else ''}kept {' and '.join(said)}"
