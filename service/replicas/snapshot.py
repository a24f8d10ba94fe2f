"""The memories of a replica at one version, which a whole batch reads: loaded, and the recent ones kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from models.blocks import Image, block_key
from models.memory import Memory, Views
from service.graph.lookup import Lookup
from service.ledger import snapshots
from service.ledger.commit import EDITS_PER_COMMIT, Commit
from service.ledger.store import RedisLedger
from service.process_memory import give_back_memory
from service.single_flight import SingleFlight

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
