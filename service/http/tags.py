"""The admin routes that name versions."""

from __future__ import annotations

from typing import Annotated

from errata.wire import Tag, TagList, TagName, TagRequest
from fastapi import APIRouter, Depends, Path, Request, Response

from service.http.audited import describe
from service.http.body import ADMIN_LIMIT, parsed
from service.http.callee import Callee
from service.http.callers import Guard, caller
from service.http.openapi import describes
from service.http.outcomes import respond

LIMIT_S = 60.0

Name = Annotated[TagName, Path(description="The tag.")]


def routes(editor: Callee, may_read: Guard, may_edit: Guard) -> APIRouter:
    router = APIRouter(tags=["history"])
    edits = [Depends(may_edit)]

    @router.get(
        "/admin/tags", dependencies=[Depends(may_read)], **describes(None, TagList, 401, 403, 429, 503)
    )
    async def tags() -> Response:
        """Every tag, the newest version first."""
        return respond(await editor.call("tags", limit_s=LIMIT_S))

    @router.put(
        "/admin/tags/{name}",
        dependencies=edits,
        **describes(TagRequest, Tag, 400, 401, 403, 404, 408, 413, 422, 429, 503),
    )
    async def tag(name: Name, request: Request) -> Response:
        """Give a version this name, or move the name there."""
        asked = await parsed(TagRequest, request, ADMIN_LIMIT)
        describe(request, f"version {asked.version}")
        who = caller(request).name
        return respond(await editor.call("tag", name, asked.version, who, limit_s=LIMIT_S))

    @router.delete(
        "/admin/tags/{name}", dependencies=edits, **describes(None, Tag, 401, 403, 404, 422, 429, 503)
    )
    async def untag(name: Name) -> Response:
        """Take the name away; the version stays."""
        return respond(await editor.call("untag", name, limit_s=LIMIT_S))

    return router
