"""GET /v1/entities: the graph as a person or a program looks it up, at any version."""

from __future__ import annotations

from typing import Annotated

from errata.wire import LARGEST_VERSION, EntityList, EntityState
from fastapi import APIRouter, Path, Query, Response

from service.http.callee import Callee
from service.http.openapi import describes
from service.http.outcomes import respond

LIMIT_S = 30.0

Text = Annotated[str, Query(min_length=1, max_length=200)]
Limit = Annotated[int, Query(ge=1, le=100)]
Version = Annotated[int | None, Query(ge=0, le=LARGEST_VERSION)]
Id = Annotated[str, Path(min_length=1, max_length=2_100)]


def routes(editor: Callee) -> APIRouter:
    router = APIRouter(tags=["graph"])

    @router.get("/v1/entities", **describes(None, EntityList, 401, 403, 404, 422, 429, 503))
    async def entities(q: Text, limit: Limit = 20, version: Version = None) -> Response:
        """Entities by the beginning of a name: whose name it is first."""
        return respond(await editor.call("entities", q, limit, version, limit_s=LIMIT_S))

    @router.get("/v1/entities/{id:path}", **describes(None, EntityState, 401, 403, 404, 422, 429, 503))
    async def entity(id: Id, version: Version = None) -> Response:
        """One entity at a version: its names, its facts and since when they hold, and what was removed."""
        return respond(await editor.call("entity", id, version, limit_s=LIMIT_S))

    return router
