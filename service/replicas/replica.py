"""One replica: a model, the newest snapshot of its memory, and a queue that gathers questions into batches.

A question's way: resolve its pin, wait in the queue, be answered with one snapshot for the whole batch, leave as JSON.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import perf_counter
from typing import Any
from uuid import uuid4

from ray import serve

from models.system import Ask, Reply, View
from service import tracing
from service.concurrency import cancel_and_wait
from service.config import Settings
from service.errors import (
    ErrataError,
    Internal,
    LedgerCorrupt,
    LedgerUnavailable,
    NotFound,
    NotReady,
    VersionAhead,
    VersionDropped,
)
from service.graph.lookup import Lookup
from service.graph.rows import Rows
from service.ledger.arriving import arrived
from service.ledger.schema import bring_up
from service.ledger.store import RedisLedger
from service.loading import load_system
from service.metrics import metrics
from service.replicas.asking import Answered, Waiting, asked, told
from service.replicas.figures import begin_at_zero
from service.replicas.history import History
from service.replicas.outcome import Outcome
from service.replicas.queue import Queue
from service.replicas.registration import Registration
from service.replicas.snapshot import Loader, Snapshot
from service.replicas.tail import Tail

log = logging.getLogger(__name__)

START_S = 60.0  # to catch up once more after registering
DRAINED_LOOK_S = 0.2  # when it is asked to end: by default Ray looks no sooner than it kills


class Replica:
    """Takes no traffic before it has caught up: the constructor returns when it has, and waits for the ledger."""

    async def __init__(self, settings: Settings, model: str) -> None:  # type: ignore[misc]  # Ray awaits it
        assert settings.redis_url, "the launcher names the ledger's Redis"
        metrics.count_start(model)
        self.id = f"{model}-{uuid4().hex[:8]}"
        self._settings, self._model = settings, model
        self._ledger = RedisLedger.connect(settings.redis_url, settings.redis_timeout_s)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"{model}-forward")
        self._tasks: list[asyncio.Task[None]] = []
        self.__del__ = self.aclose  # Ray awaits it; Python, which looks at the class, does not see it
        self._system = await asyncio.get_running_loop().run_in_executor(
            self._worker, load_system, settings, model
        )
        reads_graph = "graph" in self._system.reads
        self._lookup = Lookup(Rows(self._ledger.connection)) if reads_graph else None
        self._loader = Loader(self._ledger, self._system, self._lookup)
        self._history = History(self._loader, settings.history)
        self._queue = Queue(self._batch, settings.max_batch)
        await arrived(lambda: bring_up(self._ledger.connection), self.id)
        first = await arrived(self._first, self.id)
        self._tail = Tail(self._ledger, self._loader, first, self._applied)
        self._registration = Registration(self._ledger, self.id, self._status, self._seen)
        self._history.add(first)
        self._tasks += [asyncio.create_task(self._tail.run()), asyncio.create_task(self._registration.run())]
        begin_at_zero(model, reads_graph)
        await arrived(self._registration.now, self.id)
        await arrived(self._join, self.id)
        self.__del__ = self._end
        metrics.set_ready(model, settings.metrics_port)

    async def _first(self) -> Snapshot:
        """The newest version there is, which may be dropped while it is loaded."""
        while True:
            head = await self._ledger.head()
            try:
                return await self._loader.at(head)
            except VersionDropped:
                if await self._ledger.head() == head:
                    raise

    async def _join(self) -> None:
        """Reach what was committed before anybody knew of this replica: from now on commits wait for it."""
        head = await self._ledger.head()
        if not await self._tail.reach(head, START_S):
            raise NotReady(f"{self.id} did not reach version {head} within {START_S:g} s")

    def _applied(self, snapshot: Snapshot, seconds: float) -> None:
        self._history.add(snapshot)
        self._registration.applied_ms = 1e3 * seconds
        self._registration.soon()
        metrics.PROPAGATION.labels(self._model).observe(max(0.0, seconds))

    def _seen(self, head: int) -> None:
        self._tail.head = head
        metrics.set_replica_version(self._model, self._tail.newest.version, head)

    def _status(self) -> dict[str, Any]:
        """The wire's ReplicaState, but for when it was seen."""
        newest, degraded = self._tail.newest, self._degraded()
        return {
            "replica": self.id,
            "model": self._model,
            "version": newest.version,
            "checksums": {self._system.memory: newest.checksum},
            "lag": max(0, self._tail.head - newest.version),
            "healthy": degraded is None,
            "degraded": degraded,
            "host": socket.gethostname(),  # a pod's is its name
            "pid": os.getpid(),
        }

    def _degraded(self) -> str | None:
        """The code of what is wrong, if anything: the ledger is away or damaged, or names of the graph are."""
        if self._tail.degraded is None and self._lookup is not None:
            return LedgerCorrupt.code if self._lookup.find_damage(self._tail.newest.view) else None
        return self._tail.degraded

    async def answer(self, request: Mapping[str, Any]) -> Outcome:
        """One question, checked by the wire types already."""
        with tracing.continued(request.get("trace", {}), f"answer {self._model}"):
            return await self._answer(request, perf_counter())

    async def _answer(self, request: Mapping[str, Any], started: float) -> Outcome:
        try:
            waiting = Waiting(asked(request, self._system), await self._pinned(request), started)
            answered = await self._queue.ask(waiting)
        except ErrataError as error:
            return Outcome.of(error, None)
        self._measure(answered)
        body = told(answered, self._model, self.id, self._degraded())
        return Outcome(200, body, declined=answered.reply.answer is None)

    async def answer_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        """One outcome each, in order."""
        return list(await asyncio.gather(*(self.answer(request) for request in requests)))

    async def state(self) -> dict[str, Any]:
        return {**self._status(), "applied_ms": self._registration.applied_ms, "seen_s_ago": 0.0}

    async def describe(self) -> dict[str, Any]:
        """What GET /v1/models says of this system."""
        described = dict(self._system.describe())
        return {"memory": self._system.memory, "methods": list(self._system.methods), "details": described}

    async def check_health(self) -> None:
        """Ray starts the replica again when this raises. The ledger being gone is not a reason to."""
        for task in self._tasks:
            if task.done():
                raise RuntimeError(f"{self.id}: a background task ended: {task.exception()!r}")

    async def aclose(self) -> None:
        """Stop following, and leave the list of replicas. Safe at any time, also before the start was done."""
        await cancel_and_wait(self._tasks)
        with suppress(LedgerUnavailable):
            await self._ledger.forget(self.id)
        await self._ledger.aclose()
        self._worker.shutdown(wait=False)

    async def _end(self) -> None:
        """Of one that was ready: whose start fails has not ended as it was asked to."""
        metrics.count_end(self._model)
        await self.aclose()

    async def _pinned(self, request: Mapping[str, Any]) -> Snapshot | None:
        """The snapshot that a request insists on, None for the newest. Waits for one that is on its way."""
        version, least = request.get("version"), request.get("min_version")
        if version is not None and version > self._tail.head:
            with suppress(LedgerUnavailable):
                await self._refuse_unmade(version)
        if not await self._tail.reach(max(version or 0, least or 0), self._settings.version_wait_s):
            raise await self._too_new(version, least)
        if version is None:
            return None
        return self._tail.newest if version == self._tail.newest.version else await self._history.at(version)

    async def _refuse_unmade(self, version: int) -> None:
        """At once, for whoever waits for it holds a place."""
        head = await self._ledger.head()
        if version > head:
            detail = f"there is no version {version}: the newest is {head}"
            raise NotFound(detail, version=version, head=head)

    async def _too_new(self, version: int | None, least: int | None) -> VersionAhead:
        await self._refuse_unmade(version or 0)
        return VersionAhead(
            f"this replica has version {self._tail.newest.version}, not {version or least} yet: ask again in a moment",
            version=self._tail.newest.version,
        )

    async def _batch(self, waiting: Sequence[Waiting]) -> list[Answered | Exception]:
        """One forward pass, on one snapshot but for those that pin another."""
        newest, begun = self._tail.newest, perf_counter()
        snapshots = [one.pinned or newest for one in waiting]
        metrics.BATCH.labels(self._model).observe(len(waiting))
        metrics.QUEUE.labels(self._model, "replica").set(self._queue.length)
        informed = await self._informed([one.ask for one in waiting], [one.view for one in snapshots])
        asked, loop = perf_counter(), asyncio.get_running_loop()
        replies = await loop.run_in_executor(self._worker, self._forward, informed, snapshots)
        done = perf_counter()
        return [
            reply
            if isinstance(reply, Exception)
            else Answered(
                reply, snapshot, begun - one.arrived, asked - begun, done - asked, done - one.arrived
            )
            for one, snapshot, reply in zip(waiting, snapshots, replies, strict=True)
        ]

    async def _informed(self, asks: list[Ask], views: Sequence[View]) -> Sequence[Ask | ErrataError]:
        """With what the graph says of their words, all by one reading; as they are where the system reads none."""
        if self._lookup is None:
            return asks
        found = await self._lookup.inform(asks, views)
        cache = found.hits, found.misses
        metrics.observe_graph(self._model, found.link_s, found.graph_s, cache, found.facts)
        return found.asks

    def _forward(
        self, asks: Sequence[Ask | ErrataError], snapshots: Sequence[Snapshot]
    ) -> Sequence[Reply | ErrataError]:
        """One answer each; what could not be asked is answered with what kept it from being asked."""
        pairs = [(a, s) for a, s in zip(asks, snapshots, strict=True) if isinstance(a, Ask)]
        answered = iter(self._answered([ask for ask, _ in pairs], [snapshot for _, snapshot in pairs]))
        return [next(answered) if isinstance(ask, Ask) else ask for ask in asks]

    def _answered(self, asks: Sequence[Ask], snapshots: Sequence[Snapshot]) -> Sequence[Reply | ErrataError]:
        try:
            return self._system.answer(asks, [one.view for one in snapshots])
        except Exception as error:
            log.exception("a batch of %d failed", len(asks))
            if len(asks) == 1:
                return [
                    Internal(f"the model failed on this question ({type(error).__name__}); the log says more")
                ]
            alone = [self._answered([ask], [s]) for ask, s in zip(asks, snapshots, strict=True)]
            return [reply for replies in alone for reply in replies]

    def _measure(self, answered: Answered) -> None:
        parts = {"queue": answered.queue_s, "model": answered.model_s, "total": answered.total_s}
        for part, seconds in parts.items():
            metrics.ANSWER_PARTS.labels(self._model, part).observe(seconds)
        tracing.told({"queue": answered.queue_s, "graph": answered.graph_s, "model": answered.model_s})


ReplicaDeployment = serve.deployment(Replica, graceful_shutdown_wait_loop_s=DRAINED_LOOK_S)
