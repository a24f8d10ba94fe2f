"""GET /admin/audit: who called the admin routes, the refused ones too."""

from __future__ import annotations

from typing import Annotated

from errata.wire import AuditEntry, AuditPage
from fastapi import APIRouter, Depends, Query

from service.access.audit import Audit, Entry, Filter
from service.http.callers import Guard
from service.http.openapi import describes

Before = Annotated[str | None, Query(pattern=r"^[1-9][0-9]{0,15}-[0-9]{1,16}$")]
Limit = Annotated[int, Query(ge=1, le=1_000)]
Time = Annotated[float | None, Query(ge=0, le=1e11)]


def routes(audit: Audit, may_admin: Guard) -> APIRouter:
    router = APIRouter(tags=["audit"], dependencies=[Depends(may_admin)])

    @router.get("/admin/audit", **describes(None, AuditPage, 401, 403, 422, 429, 503))
    async def entries(
        limit: Limit = 50,
        before: Before = None,
        name: str | None = None,
        path: str | None = None,
        refused: bool | None = None,
        version: int | None = None,
        since: Time = None,
        until: Time = None,
    ) -> AuditPage:
        """The newest calls first; `before` continues from an older page. `path`: how it begins."""
        wanted = Filter(name, path, refused, version, since, until)
        found = await audit.newest(limit, before, wanted)
        more = found[-1].id if len(found) == limit else None
        return AuditPage(entries=[_told(one) for one in found], next=more)

    return router


def _told(entry: Entry) -> AuditEntry:
    return AuditEntry.model_validate({"id": entry.id, "time": entry.time, **entry.call.model_dump()})
