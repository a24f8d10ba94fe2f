"""The admin routes that read: the log, one commit, the difference of two versions, fact tests, replicas."""

from __future__ import annotations

from typing import Annotated

from errata.wire import (
    LARGEST_VERSION,
    CheckReport,
    Diff,
    ReplicaList,
    VersionDetail,
    VersionLog,
)
from fastapi import APIRouter, Depends, Path, Query, Response

from service.http.callee import Callee
from service.http.callers import Guard
from service.http.openapi import describes
from service.http.outcomes import respond

LIMIT_S = 30.0
LONGEST_LOG = 1_000

Limit = Annotated[int, Query(ge=1, le=LONGEST_LOG)]
Before = Annotated[int | None, Query(ge=1, le=LARGEST_VERSION)]
Commit = Annotated[int, Path(ge=1, le=LARGEST_VERSION)]
From = Annotated[int, Query(alias="from", ge=0, le=LARGEST_VERSION)]
To = Annotated[int, Query(ge=0, le=LARGEST_VERSION)]


def routes(editor: Callee, may_read: Guard) -> APIRouter:
    router = APIRouter(tags=["history"], dependencies=[Depends(may_read)])

    @router.get("/admin/versions", **describes(None, VersionLog, 401, 403, 422, 429, 503))
    async def log(limit: Limit = 20, before: Before = None) -> Response:
        """The newest commits first; `before` continues from an older one."""
        return respond(await editor.call("log", limit, before, limit_s=LIMIT_S))

    @router.get("/admin/versions/{version}", **describes(None, VersionDetail, 401, 403, 404, 422, 429, 503))
    async def show(version: Commit) -> Response:
        """One commit: its edits, what it wrote, and its report."""
        return respond(await editor.call("show", version, limit_s=LIMIT_S))

    @router.get("/admin/diff", **describes(None, Diff, 401, 403, 404, 422, 429, 503))
    async def diff(older: From, to: To) -> Response:
        """Which questions two versions answer differently."""
        return respond(await editor.call("diff", older, to, limit_s=LIMIT_S))

    @router.get("/admin/checks", **describes(None, CheckReport, 401, 403, 404, 422, 429, 503))
    async def checks(superseded: bool = False) -> Response:
        """What the fact tests said when they last ran. `superseded` lists those that a later edit answers anew, too."""
        return respond(await editor.call("check", False, superseded, limit_s=LIMIT_S))

    @router.get("/admin/replicas", **describes(None, ReplicaList, 401, 403, 429, 503))
    async def replicas() -> Response:
        """Version, checksums, lag and health of each replica."""
        return respond(await editor.call("replicas", limit_s=LIMIT_S))

    return router
