"""GET /admin/audit: the calls of the admin routes, refused ones included."""

from __future__ import annotations

from typing import Annotated

from errata import wire
from fastapi import APIRouter, Query

from service.access.audit.audit import Audit, Entry, Filter
from service.http.openapi import document

Before = Annotated[str | None, Query(pattern=r"^[1-9][0-9]{0,15}-[0-9]{1,16}$")]
AuditLimit = Annotated[int, Query(ge=1, le=1_000)]
Time = Annotated[float | None, Query(ge=0, le=1e11)]


def build_audit_router(audit: Audit) -> APIRouter:
    router = APIRouter(tags=["audit"])

    @router.get("/admin/audit", **document(wire.AuditPage))
    async def list_calls(
        limit: AuditLimit = 50,
        before: Before = None,
        name: str | None = None,
        path: str | None = None,
        refused: bool | None = None,
        version: int | None = None,
        since: Time = None,
        until: Time = None,
    ) -> wire.AuditPage:
        """List the newest calls; `before` continues from an older page. `path` is the beginning of their paths.

        A page may have fewer calls than `limit`, or none, and a `next` all the same: the search stopped there.
        """
        filter = Filter(name, path, refused, version, since, until)
        entries, following = await audit.newest(limit, before, filter)
        return wire.AuditPage(entries=[_entry_to_wire(entry) for entry in entries], next=following)

    return router


def _entry_to_wire(entry: Entry) -> wire.AuditEntry:
    fields = {"id": entry.id, "time": entry.time, "first": entry.call.first_at}
    marks = {"pending": entry.pending, "restored": entry.restored}
    return wire.AuditEntry.model_validate(
        {**fields, **marks, **entry.call.model_dump(exclude={"first_at", "last_at"})}
    )
