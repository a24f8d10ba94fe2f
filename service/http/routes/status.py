"""How the service stands: for callers the models and their memory, for load balancers and Prometheus the probes.

Probes need no key and tell nothing secret. Some load balancers read nothing but the status, hence HEAD.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence

from errata.wire import MemoryState, ModelCard, ModelList, ReplicaList, ReplicaState
from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from service.concurrency import SingleFlight
from service.errors import LedgerUnavailable, NotReady
from service.http.deployment_client import EditorClient
from service.http.model_router import ModelRouter
from service.http.openapi import document
from service.http.responses import respond


def build_router(models: ModelRouter, editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["state"])

    @router.get("/v1/models", **document(ModelList))
    async def cards() -> ModelList:
        """The systems, their memories, sizes and replicas; OpenAI's clients read it too."""
        descriptions = {name: await models.get(name).describe() for name in models.names}
        replicas = await editor.find_replicas()
        return ModelList(data=[_build_card(name, descriptions[name], replicas) for name in models.names])

    @router.get("/v1/models/{id}", **document(ModelCard, 404))
    async def card(id: str) -> ModelCard:
        """One of the systems."""
        description = await models.get(id).describe()
        return _build_card(id, description, await editor.find_replicas())

    @router.get("/v1/memory", **document(MemoryState))
    async def memory() -> Response:
        """The newest version, the checksum of each memory, and how many edits are in force."""
        return respond(await editor.memory())

    return router


def build_probe_router(
    models: ModelRouter, editor: EditorClient, render_metrics: Callable[[], bytes], n_replicas: int
) -> APIRouter:
    """Build the routes without a key.

    Args:
        render_metrics: Returns Prometheus text; runs in a thread, for it reads a file of every process.
        n_replicas: Expected of each model.
    """
    router = APIRouter(tags=["health"])
    # Strangers may ask as often as they like.
    readiness, pages = SingleFlight[Mapping[str, object]](1), SingleFlight[bytes](1)

    @router.head("/healthz", include_in_schema=False, response_model=None)
    @router.get("/healthz", response_model=None)
    async def alive() -> Response:
        """This process answers."""
        return Response(b'{"status":"ok"}', media_type="application/json")

    @router.head("/readyz", include_in_schema=False, response_model=None)
    @router.get("/readyz", **document(None, 503))
    async def ready() -> Response:
        """Every deployment answers and has the newest version. Without the ledger: ready, but `degraded`."""
        state = await readiness.get("state", lambda: _check_readiness(models, editor, n_replicas))
        return Response(json.dumps(state), media_type="application/json")

    @router.get("/metrics", response_class=PlainTextResponse, response_model=None)
    async def metrics() -> Response:
        """Prometheus text, of all processes on this machine."""
        page = await pages.get("page", lambda: asyncio.to_thread(render_metrics))
        return Response(page, media_type=CONTENT_TYPE_LATEST)

    return router


def _build_card(name: str, description: dict[str, object], replicas: ReplicaList | None) -> ModelCard:
    """Ready: a replica of it is healthy. Without the ledger nobody counts them, and the one that answered is one."""
    n_replicas, ready = 1, True
    if replicas is not None:
        members = _select(name, replicas)
        n_replicas, ready = len(members), any(replica.healthy for replica in members)
    return ModelCard.model_validate({**description, "id": name, "ready": ready, "replicas": n_replicas})


def _select(model: str, replicas: ReplicaList) -> Sequence[ReplicaState]:
    return [replica for replica in replicas.replicas if replica.model == model]


async def _check_readiness(
    models: ModelRouter, editor: EditorClient, n_replicas: int
) -> Mapping[str, object]:
    """Raise NotReady unless every deployment has caught up; the text names what is missing.

    Without the ledger nobody can catch up, and answers go on: ready, and degraded.
    """
    degraded = await editor.ready()
    if degraded not in (None, LedgerUnavailable.code):
        raise NotReady(f"nothing can be edited: {degraded}; the editor's log says more")
    replicas = await editor.find_replicas()
    if degraded is not None or replicas is None:
        for name in models.names:
            await models.get(name).state()
        return {"ready": True, "degraded": LedgerUnavailable.code}
    missing: list[str] = []
    for name in models.names:
        members = _select(name, replicas)
        if len(members) < n_replicas:
            missing.append(f"{len(members)} of {n_replicas} replicas of {name!r} are there")
        missing += [
            f"{replica.replica} is at version {replica.version} of {replicas.head}"
            if replica.healthy
            else f"{replica.replica} is not healthy"
            for replica in members
            if replica.version < replicas.head or not replica.healthy
        ]
    if missing:
        raise NotReady("; ".join(missing))
    return {"ready": True, "degraded": None, "version": replicas.head}
