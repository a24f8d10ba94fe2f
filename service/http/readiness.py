"""Whether every model answers, and whether all of the service has converged: told at once, from what is known.

A load balancer takes an ingress out when it says no, and answers depend neither on the editor nor on the newest commit
nor on the last of several replicas. So ready is: each model has a replica that answers. The rest is in the same body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from time import monotonic
from typing import Any, Generic, TypeVar

from errata.wire import ReplicaList

from service.concurrency import cancel_and_wait
from service.errors import ErrataError, NotReady
from service.http.deployment_client import EditorClient
from service.http.model_router import ModelRouter

FRESH_S = 1.0  # what is known for longer is looked up again, once for all who ask
STALE_S = 5.0  # what is known for longer, since a look-up hangs, is not known any more
WAIT_S = 0.08  # for a look-up; who asks sooner than it ends is told what was known
FIRST_WAIT_S = 2.0  # while nothing is known at all

T = TypeVar("T")


class Look(Generic[T]):
    """The last result of a call; None if it failed, or is older than STALE_S."""

    def __init__(self, call: Callable[[], Awaitable[T]]) -> None:
        self._call = call
        self._result: T | None = None
        self._at = float("-inf")
        self._task: asyncio.Task[None] | None = None

    @property
    def result(self) -> T | None:
        return self._result if monotonic() - self._at < STALE_S else None

    @property
    def is_new(self) -> bool:
        """Nothing was ever known."""
        return self._at == float("-inf")

    def refresh(self) -> asyncio.Task[None]:
        if self._task is None or (self._task.done() and monotonic() - self._at >= FRESH_S):
            # In a context of its own: in that of a request, Ray would end the call when its caller hangs up.
            self._task = asyncio.create_task(self._run(), context=Context())
        return self._task

    async def get(self) -> T | None:
        """Return a result that is no older than FRESH_S: one look-up serves all who ask meanwhile."""
        await asyncio.shield(self.refresh())
        return self.result

    async def _run(self) -> None:
        try:
            self._result = await self._call()
        except ErrataError:
            self._result = None
        self._at = monotonic()


class Readiness:
    """n_replicas: expected of each model."""

    def __init__(self, models: ModelRouter, editor: EditorClient, n_replicas: int) -> None:
        self._n_replicas = n_replicas
        self._editor = Look(editor.state)
        self._replicas = Look(editor.find_replicas)
        self._models = {name: Look(models.get(name).state) for name in models.names}
        self._watching: asyncio.Task[None] | None = None
        self._looks: list[Look[Any]] = [self._editor, self._replicas, *self._models.values()]

    async def start(self) -> None:
        """Look by itself from now on, so that whoever asks first is told what is so, too."""
        self._watching = asyncio.create_task(self._watch())

    async def aclose(self) -> None:
        if self._watching is not None:
            await cancel_and_wait([self._watching])

    async def _watch(self) -> None:
        while True:
            await asyncio.wait([look.refresh() for look in self._looks])
            await asyncio.sleep(FRESH_S)

    async def describe(self) -> dict[str, Any]:
        """What GET /readyz answers, within WAIT_S but for the first time. NotReady names a model without a replica."""
        wait_s = FIRST_WAIT_S if any(look.is_new for look in self._looks) else WAIT_S
        await asyncio.wait([look.refresh() for look in self._looks], timeout=wait_s)
        replicas = self._replicas.result
        counts = None if replicas is None else {name: _count(name, replicas) for name in self._models}
        for name, look in self._models.items():
            if look.result is None and not (counts and counts[name]["live"]):
                raise NotReady(f"no replica of {name!r} answers")
        editor = self._editor.result or {"degraded": NotReady.code}
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
