"""Whether every model answers, and whether all of the service has converged: told at once, from what is known.

A load balancer takes an ingress out when it says no, and answers depend neither on the editor nor on the newest commit
nor on the last of several replicas. So ready is: each model has a replica that answers. The rest is in the same body.
"""

from __future__ import annotations

import asyncio
from typing import Any

from errata.wire import ReplicaList

from service.concurrency import Refreshing, cancel_and_wait
from service.errors import NotReady
from service.http.deployment_client import EditorClient
from service.http.model_router import ModelRouter

FRESH_S = 1.0  # what is known for longer is looked up again, once for all who ask
STALE_S = 5.0  # what is known for longer, since a look-up hangs, is not known any more
WAIT_S = 0.08  # for a look-up; who asks sooner than it ends is told what was known
FIRST_WAIT_S = 2.0  # while nothing is known at all


class Readiness:
    """n_replicas: expected of each model."""

    def __init__(self, models: ModelRouter, editor: EditorClient, n_replicas: int) -> None:
        self._n_replicas = n_replicas
        self._editor = Refreshing(editor.state, FRESH_S)
        self._replicas = Refreshing(editor.find_replicas, FRESH_S)
        self._models = {name: Refreshing(models.get(name).state, FRESH_S) for name in models.names}
        self._watching: asyncio.Task[None] | None = None
        self._looks: list[Refreshing[Any]] = [self._editor, self._replicas, *self._models.values()]

    async def start(self) -> None:
        """Look by itself from now on, so that whoever asks first is told what is so, too."""
        self._watching = asyncio.create_task(self._watch())

    async def aclose(self) -> None:
        if self._watching is not None:
            await cancel_and_wait([self._watching])

    async def _watch(self) -> None:
        while True:
            await asyncio.gather(*(look.refresh() for look in self._looks))
            await asyncio.sleep(FRESH_S)

    async def describe(self) -> dict[str, Any]:
        """What GET /readyz answers, within WAIT_S but for the first time. NotReady names a model without a replica."""
        wait_s = FIRST_WAIT_S if any(look.is_new for look in self._looks) else WAIT_S
        await asyncio.gather(*(look.refresh(wait_s) for look in self._looks))
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
    """live: that answer. current: of these, the healthy ones with the newest version."""
    live = [replica for replica in replicas.replicas if replica.model == model]
    current = [replica for replica in live if replica.healthy and replica.version >= replicas.head]
    return {"live": len(live), "current": len(current)}
