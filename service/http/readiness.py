"""Whether every model answers, and whether the whole service has converged: told at once, from a recent look-up.

A load balancer removes an ingress that is not ready, and answers depend neither on the editor nor on the newest
commit nor on the last of several replicas. So ready means that each model has a replica that answers. The rest is in
the same body.
"""

from __future__ import annotations

import asyncio
from typing import Any

from errata.wire import ReplicaList

from service.concurrency import Refreshing, cancel_and_wait
from service.errors import NotReady
from service.http.deployment_client import EditorClient
from service.http.model_router import ModelRouter

FRESH_S = 1.0  # age at which the state is looked up again, once for all requests
STALE_S = 5.0  # age at which the state counts as unknown, since a look-up hangs
WAIT_S = 0.03  # time that a request waits for a state that is unknown
FIRST_WAIT_S = 2.0  # the same before a first look-up of each state has ended


class Readiness:
    """The state of the service; `n_replicas` is the expected number of each model."""

    def __init__(self, models: ModelRouter, editor: EditorClient, n_replicas: int) -> None:
        self._n_replicas = n_replicas
        self._editor = Refreshing(editor.state, FRESH_S)
        self._replicas = Refreshing(editor.find_replicas, FRESH_S)
        self._models = {name: Refreshing(models.get(name).state, FRESH_S) for name in models.names}
        self._watching: asyncio.Task[None] | None = None
        self._looks: list[Refreshing[Any]] = [self._editor, self._replicas, *self._models.values()]

    async def start(self) -> None:
        """Start refreshing in the background, so that the first request finds a current state."""
        self._watching = asyncio.create_task(self._watch())

    async def aclose(self) -> None:
        if self._watching is not None:
            await cancel_and_wait([self._watching])

    async def _watch(self) -> None:
        while True:
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
        counts = None if replicas is None else {name: _count(name, replicas) for name in self._models}
        for name, look in self._models.items():
            if look.current(STALE_S) is None and not (counts and counts[name]["live"]):
                raise NotReady(f"no replica of {name!r} answers")
        editor = self._editor.current(STALE_S) or {"degraded": NotReady.code}
        is_converged = counts is not None and all(
            model["current"] == model["live"] >= self._n_replicas for model in counts.values()
        )
        return {
            "ready": True,
            "converged": is_converged and editor["degraded"] is None,
            "degraded": editor["degraded"],
            "version": replicas and replicas.head,
            "models": counts,
        }


def _count(model: str, replicas: ReplicaList) -> dict[str, int]:
    """Count the replicas that answer (`live`), and the healthy ones of these with the newest version (`current`)."""
    live = [replica for replica in replicas.replicas if replica.model == model]
    current = [replica for replica in live if replica.healthy and replica.version >= replicas.head]
    return {"live": len(live), "current": len(current)}
