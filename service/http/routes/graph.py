"""GET /v1/entities: the graph as a person or a program looks it up, at any version."""

from __future__ import annotations

from typing import Annotated

from errata.wire import LARGEST_VERSION, EntityList, EntityState
from fastapi import APIRouter, Path, Query, Response

from service.http.auth import RequestAccount
from service.http.deployment_client import EditorClient
from service.http.openapi import document
from service.http.responses import respond

Text = Annotated[str, Query(min_length=1, max_length=200)]
Limit = Annotated[int, Query(ge=1, le=100)]
Version = Annotated[int | None, Query(ge=0, le=LARGEST_VERSION)]
Id = Annotated[str, Path(min_length=1, max_length=2_100)]
OLD_WORK = 10  # Short questions that a look-up at a version costs: the one editor folds the graph for it


def build_router(editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["graph"])

    @router.get("/v1/entities", **document(EntityList, 404))
    async def find_entities(
        q: Text, account: RequestAccount, limit: Limit = 20, version: Version = None
    ) -> Response:
        """Entities by the beginning of a name: whose name it is first."""
        await account.charge(1 if version is None else OLD_WORK)
        return respond(await editor.entities(q, limit, version))

    @router.get("/v1/entities/{id:path}", **document(EntityState, 404))
    async def get_entity(id: Id, account: RequestAccount, version: Version = None) -> Response:
        """One entity at a version: its names, its facts and since when they hold, and what was removed."""
        await account.charge(1 if version is None else OLD_WORK)
        return respond(await editor.entity(id, version))

    return router
