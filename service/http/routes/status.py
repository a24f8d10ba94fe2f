"""The state of the service: the models and their memory for callers, the probes for load balancers and Prometheus.

Probes need no key and tell nothing secret. Whether every model answers, and whether the whole service has converged, is
told at once, from a recent look-up. A load balancer removes an ingress that is not ready, and answers depend neither on
the editor nor on the newest commit nor on the last of several replicas. So ready means that each model has described
itself and has a replica that answers, and that the editor was asked once; the rest is in the same body.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from errata.wire import ModelCard, ModelList, ReplicaList
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from service.concurrency import cancel_and_wait
from service.config import AUTO
from service.editing.operations import GetMemory
from service.errors import ErrataError, NotReady, UpstreamFailed
from service.http.deployment_client import EditorClient
from service.http.descriptions import Description
from service.http.model_router import ModelRouter
from service.http.openapi import document, forward
from service.metrics import metrics
from service.refreshing import Refreshing
from service.supervision import supervise

FRESH_S = 1.0  # age at which the state is looked up again, once for all requests
STALE_S = 5.0  # age at which the state counts as unknown, since a look-up hangs
WAIT_S = 0.03  # time that a request waits for a state that is unknown
FIRST_WAIT_S = 2.0  # the same before a first look-up of each state has ended
UNKNOWN: Description = {"memories": [], "methods": []}  # stands for a model that has not described itself yet


class Readiness:
    """The state of the service.

    Args:
        n_replicas: Expected number of replicas of each model.
        list_failing: Returns the names of upstreams that fail; edits answer for them, so the service is ready.
    """

    def __init__(
        self,
        models: ModelRouter,
        editor: EditorClient,
        n_replicas: int,
        list_failing: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._list_failing = list_failing
        self._descriptions, self._n_replicas = models.descriptions, n_replicas
        self._editor = Refreshing(editor.state, FRESH_S)
        self._replicas = Refreshing(editor.find_replicas, FRESH_S)
        self._models = {name: Refreshing(models.get(name).state, FRESH_S) for name in models.names}
        self._watching: asyncio.Task[None] | None = None
        self._looks: list[Refreshing[Any]] = [self._editor, self._replicas, *self._models.values()]

    async def start(self) -> None:
        """Start refreshing in the background, so that the first request finds a current state."""
        self._watching = asyncio.create_task(supervise("readiness", self._watch))

    async def aclose(self) -> None:
        if self._watching is not None:
            await cancel_and_wait([self._watching])

    async def _watch(self) -> None:
        while True:
            self._descriptions.start()
            await self._look(FRESH_S)  # a look-up that hangs delays no other
            await asyncio.sleep(FRESH_S)

    async def _look(self, wait_s: float) -> None:
        """Refresh every state that is old, and wait for `wait_s` at most."""
        for look in self._looks:
            look.start()
        tasks = [look.task for look in self._looks if look.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=wait_s)

    async def describe(self) -> dict[str, Any]:
        """Return the body of GET /readyz; raise NotReady if no replica of a model answers.

        It waits only where a state is unknown.
        """
        if any(look.age_s >= STALE_S for look in self._looks):
            await self._look(FIRST_WAIT_S if any(look.is_new for look in self._looks) else WAIT_S)
        replicas = self._replicas.current(STALE_S)
        counts = (
            None if replicas is None else {name: _count_replicas(name, replicas) for name in self._models}
        )
        for name, look in self._models.items():
            if look.current(STALE_S) is None and not (counts and counts[name]["live"]):
                raise NotReady(f"no replica of {name!r} answers")
            if await self._descriptions.find(name) is None:
                raise NotReady(f"{name!r} has not described itself yet")
        if self._editor.is_new:
            raise NotReady("the editor has not been asked for its state yet")
        editor = self._editor.current(STALE_S) or {"degraded": NotReady.code}
        is_converged = counts is not None and all(
            model["current"] == model["live"] >= self._n_replicas for model in counts.values()
        )
        return {
            "ready": True,
            "converged": is_converged and editor["degraded"] is None,
            "degraded": editor["degraded"] or (UpstreamFailed.code if self._list_failing() else None),
            "version": replicas and replicas.head,
            "models": counts,
        }


def _count_replicas(model: str, replicas: ReplicaList) -> dict[str, int]:
    """Count the replicas that answer (`live`), and the healthy ones of these with the newest version (`current`)."""
    live = [replica for replica in replicas.replicas if replica.model == model]
    current = [replica for replica in live if replica.healthy and replica.version >= replicas.head]
    return {"live": len(live), "current": len(current)}


async def _list_none(request: Request) -> list[ModelCard]:
    return []


def build_router(
    models: ModelRouter,
    editor: EditorClient,
    list_upstream_models: Callable[[Request], Awaitable[list[ModelCard]]] = _list_none,
) -> APIRouter:
    router = APIRouter(tags=["state"])

    @router.get("/v1/models", **document(ModelList))
    async def list_models(request: Request) -> ModelList:
        """List the systems with their memories and replicas; one that is down as it was, and not `ready`."""
        replicas = None
        with suppress(ErrataError):
            replicas = await editor.find_replicas()
        cards = [
            _build_card(name, description or UNKNOWN, models.descriptions.answers(name), replicas)
            for name, description in (await models.descriptions.find_all()).items()
        ]
        auto = [_build_auto_card(cards)] if len(cards) > 1 else []
        return ModelList(data=[*cards, *auto, *await list_upstream_models(request)])

    @router.get("/v1/models/{id:path}", **document(ModelCard, 404))
    async def get_model(id: str, request: Request) -> ModelCard:
        """Return one of the systems, an upstream's model, or `auto`, which asks all systems."""
        cards = (await list_models(request)).data
        if id == AUTO:
            return _build_auto_card([card for card in cards if card.id in models.names])
        if card := next((card for card in cards if card.id == id), None):
            return card
        models.get(id)
        raise AssertionError("a system has a card")

    forward(router, editor, "GET /v1/memory", GetMemory)
    return router


def build_probe_router(readiness: Readiness, render_metrics: Callable[[], bytes]) -> APIRouter:
    """Build the routes without a key.

    Args:
        render_metrics: Returns Prometheus text; it runs in a thread, since it reads a file of every process.
    """
    router = APIRouter(tags=["health"])
    # The rate of strangers is not limited here.
    page = Refreshing(lambda: asyncio.to_thread(render_metrics), FRESH_S)

    @router.get("/healthz", response_model=None)
    async def get_health() -> Response:
        """Confirm that this process answers."""
        return Response(b'{"status":"ok"}', media_type="application/json")

    @router.get("/readyz", **document(None, 503))
    async def get_readiness() -> Response:
        """Confirm that each model has a replica that answers. `converged`: all replicas have the newest version."""
        return Response(json.dumps(await readiness.describe()), media_type="application/json")

    @router.get("/metrics", response_class=PlainTextResponse, response_model=None)
    async def get_metrics() -> Response:
        """Return Prometheus text, of all processes on this machine."""
        return Response(await page.get(), media_type=CONTENT_TYPE_LATEST)

    return router


def _build_card(
    name: str, description: Description, answers: bool, replicas: ReplicaList | None
) -> ModelCard:
    """Describe a model, which is ready if a replica is healthy or, without the ledger's count, if one `answers`."""
    n_replicas, ready = 1, answers
    if replicas is not None:
        members = [replica for replica in replicas.replicas if replica.model == name]
        n_replicas, ready = len(members), any(replica.healthy for replica in members)
    figures = {"ready": ready, "replicas": n_replicas, "answers": metrics.count_answers(name)}
    return ModelCard.model_validate({**description, "id": name, **figures})


def _build_auto_card(cards: Sequence[ModelCard]) -> ModelCard:
    """Describe `auto`, which is ready if a system is; it has as many replicas as the least of the systems."""
    return ModelCard(
        id=AUTO,
        memories=[],
        methods=[],
        ready=any(card.ready for card in cards),
        replicas=min(card.replicas for card in cards),
        details={"asks": [card.id for card in cards]},
    )
