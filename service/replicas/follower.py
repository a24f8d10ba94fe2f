"""The memories of a replica at one version, which a whole batch reads, and how they follow the ledger.

When a new version is ready, one reference is swapped. While the ledger is away, the last snapshot continues to answer,
and its answers say that they may be stale. The same holds while the ledger is damaged, until a person has repaired it.

A heartbeat goes out once a second and after each new snapshot, with the time that the replica is behind the ledger: by
its own machine's clock, since clocks differ.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from cachetools import LRUCache

from models.blocks import Image, block_key
from models.memory import Memory, Views
from service.concurrency import SingleFlight, give_back_memory
from service.errors import LedgerCorrupt, LedgerUnavailable
from service.graph.lookup import Lookup
from service.ledger import snapshots
from service.ledger.commit import EDITS_PER_COMMIT, Commit, data_replaced
from service.ledger.snapshots import read_newer
from service.ledger.store import RedisLedger
from service.metrics import metrics

CONCURRENT_BUILDS = 2  # builds of old versions at a time; they compete with answers and the newest version


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One version, immutable: an edit makes another snapshot. `digest` is its commit's, "" for version 0."""

    version: int
    digest: str
    images: Mapping[str, Image]
    views: Views

    @property
    def checksums(self) -> dict[str, str]:
        return {memory: image.checksum for memory, image in self.images.items()}

    def find_version(self, edits: Iterable[str]) -> int | None:
        """Return the version that made the newest of these edits; None if they wrote none of the memories."""
        keys = [block_key(edit) for edit in edits]
        blocks = (image.blocks.get(key) for key in keys for image in self.images.values())
        orders = [block.order for block in blocks if block is not None]
        return max(orders) // EDITS_PER_COMMIT if orders else None


class SnapshotLoader:
    """Builds snapshots of a system's memories from the ledger. Compiling never blocks the event loop.

    Args:
        informer: Adds facts of one of the memories to questions; it gets every view of that memory.
    """

    def __init__(
        self, ledger: RedisLedger, memories: Sequence[Memory], informer: Lookup | None = None
    ) -> None:
        self._ledger, self._informer = ledger, informer
        self._memories = {memory.name: memory for memory in memories}

    async def at(self, version: int) -> Snapshot:
        """Build a version from the nearest manifest and the commits after it; the base needs no ledger."""
        bases = {name: memory.base for name, memory in self._memories.items()}
        if version == 0:
            return await self._compile(0, "", bases)
        images = await snapshots.load(self._ledger, version, bases)
        commit = await self._ledger.get(version)
        snapshot = await self._compile(version, commit.digest, images)
        del images
        await give_back_memory()
        return snapshot

    async def after(self, snapshot: Snapshot, commits: Sequence[Commit]) -> Snapshot:
        images = await snapshots.advance(snapshot.images, commits, self._ledger)
        return await self._compile(commits[-1].version, commits[-1].digest, images, snapshot)

    async def _compile(
        self, version: int, digest: str, images: Mapping[str, Image], before: Snapshot | None = None
    ) -> Snapshot:
        views = {}
        for name, image in images.items():
            if before is not None and before.images[name] is image:
                views[name] = before.views[name]
                continue
            views[name] = await asyncio.to_thread(self._memories[name].view, image)
            if self._informer is not None and name == self._informer.memory:
                await self._informer.prepare(views[name])
        return Snapshot(version, digest, dict(images), views)


class SnapshotHistory:
    """Snapshots of older versions, for requests that pin one: recently used ones are cached, others are built.

    Args:
        size: Number of cached snapshots; the least recently used is dropped first.
    """

    def __init__(self, loader: SnapshotLoader, size: int) -> None:
        self._loader = loader
        self._cache: LRUCache[int, Snapshot] = LRUCache(size)
        self._flights = SingleFlight[Snapshot](CONCURRENT_BUILDS)

    def add(self, snapshot: Snapshot) -> None:
        self._cache[snapshot.version] = snapshot

    async def at(self, version: int) -> Snapshot:
        """Return the snapshot of a version that exists; concurrent requests for it share one build."""

        async def build() -> Snapshot:
            snapshot = await self._loader.at(version)
            self.add(snapshot)
            return snapshot

        return self._cache.get(version) or await self._flights.get(version, build)


log = logging.getLogger(__name__)

BLOCK_S = 1.0
RETRY_S = (0.05, 0.1, 0.2, 0.5, 1.0)  # pauses between attempts while the ledger is away


class LedgerFollower:
    """Owns the newest snapshot.

    Attributes:
        degraded: Code of the problem because of which it may be stale, or None.
        head: The newest version of the ledger, as far as it is known.

    Args:
        on_swap: Receives, after each swap, the new snapshot and the seconds since its commit.
    """

    def __init__(
        self,
        ledger: RedisLedger,
        loader: SnapshotLoader,
        first: Snapshot,
        on_swap: Callable[[Snapshot, float], None],
    ) -> None:
        self._ledger, self._loader, self._on_swap = ledger, loader, on_swap
        self.newest = first
        self.degraded: str | None = None
        self.head = first.version
        self._swap = asyncio.Event()

    async def reach(self, version: int, limit_s: float) -> bool:
        """Return True as soon as the newest snapshot is at least `version`, or False after `limit_s` seconds."""
        try:
            async with asyncio.timeout(limit_s):
                while self.newest.version < version:
                    await self._swap.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """Follow for ever. A failure of the ledger is retried; any other error makes the replica unhealthy."""
        failures = 0
        while True:
            try:
                if not await self._ledger.wait(self.newest.version, BLOCK_S):
                    await self._check_same_ledger()
                elif commits := await read_newer(self._ledger, self.newest.version, self.newest.digest):
                    self.head = max(self.head, commits[-1].version)
                    snapshot = await self._loader.after(self.newest, commits)
                    self.publish(snapshot, time.time() - commits[-1].time)
                failures, self.degraded = 0, None
                metrics.LEDGER_UP.labels("replica").set(1)
            except (LedgerUnavailable, LedgerCorrupt) as error:
                metrics.REDIS_FAILURES.labels("replica").inc()
                metrics.LEDGER_UP.labels("replica").set(0)
                if self.degraded != error.code:
                    log.warning("answering from version %d: %s", self.newest.version, error.detail)
                self.degraded = error.code
                await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                failures += 1

    async def _check_same_ledger(self) -> None:
        """Check that the ledger has not lost commits and was not replaced, which waiting for more would hide.

        Raises:
            LedgerCorrupt: It has, or it was.
        """
        self.head, digest = await self._ledger.end()
        if self.head < self.newest.version:
            raise LedgerCorrupt(
                f"the ledger ends at version {self.head} and this replica has version {self.newest.version}: "
                "its data was lost or replaced; restore it, or start the service again",
                version=self.newest.version,
            )
        if self.head == self.newest.version and digest != self.newest.digest:
            raise data_replaced(self.head)

    def publish(self, snapshot: Snapshot, seconds: float) -> None:
        self.newest = snapshot
        swap, self._swap = self._swap, asyncio.Event()
        swap.set()
        self._on_swap(snapshot, seconds)


PERIOD_S = 1.0


class Heartbeat:
    """Sends a replica's status to the ledger.

    Attributes:
        applied_ms: Time from the newest version's commit until it was ready here; None at the start.

    Args:
        on_head: Receives the ledger's newest version after each heartbeat, so that a stuck replica knows its lag.
    """

    def __init__(
        self,
        ledger: RedisLedger,
        replica: str,
        status: Callable[[], Mapping[str, Any]],
        on_head: Callable[[int], None],
    ) -> None:
        self._ledger, self._replica, self._status, self._on_head = ledger, replica, status, on_head
        self._wake = asyncio.Event()
        self.applied_ms: float | None = None

    def send_soon(self) -> None:
        self._wake.set()

    async def send(self) -> None:
        payload = {**self._status(), "applied_ms": self.applied_ms}
        await self._ledger.heartbeat(self._replica, payload)  # before `head`, because commits wait for it
        self._on_head(await self._ledger.head())

    async def run(self) -> None:
        while True:
            self._wake.clear()
            with suppress(LedgerUnavailable):
                await self.send()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), PERIOD_S)


class Backlog:
    """The ledger's versions that are not applied yet, with the time at which each was first seen."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pending: deque[tuple[int, float]] = deque()

    def measure(self, version: int, head: int) -> float:
        """Note the versions of replica and ledger; return the seconds since the oldest pending version was seen."""
        while self._pending and self._pending[0][0] <= version:
            self._pending.popleft()
        if head > (self._pending[-1][0] if self._pending else version):
            self._pending.append((head, self._clock()))
        return self._clock() - self._pending[0][1] if self._pending else 0.0
