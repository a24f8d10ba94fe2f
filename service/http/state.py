"""GET /v1/models and /v1/memory: what can be asked here, and which version of its memories answers."""

from __future__ import annotations

from collections.abc import Sequence

from errata.wire import MemoryState, ModelCard, ModelList, ReplicaState
from fastapi import APIRouter, Response

from service.http import readiness
from service.http.callee import Callee
from service.http.models import Models
from service.http.openapi import describes
from service.http.outcomes import respond

LIMIT_S = 30.0


def routes(models: Models, editor: Callee) -> APIRouter:
    router = APIRouter(tags=["state"])

    @router.get("/v1/models", **describes(None, ModelList, 401, 403, 429, 503))
    async def cards() -> ModelList:
        """The systems, their memories, sizes and replicas; OpenAI's clients read it too."""
        described = await models.each("describe", LIMIT_S)
        found = await readiness.replicas(editor)
        running = {name: readiness.of(name, found) if found else None for name in models.names}
        return ModelList(data=[_card(name, described[name], running[name]) for name in models.names])

    @router.get("/v1/models/{id}", **describes(None, ModelCard, 401, 403, 404, 429, 503))
    async def card(id: str) -> ModelCard:
        """One of the systems."""
        described = await models.of(id).call("describe", limit_s=LIMIT_S)
        found = await readiness.replicas(editor)
        return _card(id, described, readiness.of(id, found) if found else None)

    @router.get("/v1/memory", **describes(None, MemoryState, 401, 403, 429, 503))
    async def memory() -> Response:
        """The newest version, the checksum of each memory, and how many edits are in force."""
        return respond(await editor.call("memory", limit_s=LIMIT_S))

    return router


def _card(name: str, described: dict[str, object], running: Sequence[ReplicaState] | None) -> ModelCard:
    """Ready: a replica of it is well. Without the ledger nobody counts them, and the one that spoke is there."""
    count, ready = (1, True) if running is None else (len(running), any(one.healthy for one in running))
    return ModelCard.model_validate({**described, "id": name, "ready": ready, "replicas": count})
