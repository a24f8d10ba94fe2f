"""Snapshots of older versions, for requests that pin one: the recent ones at hand, any other built when asked."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from service.replicas.snapshot import Loader, Snapshot

BUILDS = (
    2  # at a time: each reads from the ledger and compiles, which answers and the newest version need too
)


@dataclass
class Build:
    """One that is under way. askers: how many wait for it; it ends with the last of them."""

    task: asyncio.Task[Snapshot]
    askers: int = 0


class History:
    """keep: how many snapshots stay; the least recently asked goes first."""

    def __init__(self, loader: Loader, keep: int) -> None:
        self._loader, self._keep = loader, keep
        self._ready: OrderedDict[int, Snapshot] = OrderedDict()
        self._building: dict[int, Build] = {}
        self._turns = asyncio.Semaphore(BUILDS)

    def add(self, snapshot: Snapshot) -> None:
        self._ready[snapshot.version] = snapshot
        self._ready.move_to_end(snapshot.version)
        while len(self._ready) > self._keep:
            self._ready.popitem(last=False)

    async def at(self, version: int) -> Snapshot:
        """The snapshot of a version that exists. Many askers at once make it be built once."""
        if version in self._ready:
            self._ready.move_to_end(version)
            return self._ready[version]
        if version not in self._building:
            self._building[version] = Build(asyncio.create_task(self._build(version)))
        return await self._awaited(version, self._building[version])

    async def _awaited(self, version: int, build: Build) -> Snapshot:
        build.askers += 1
        try:
            return await asyncio.shield(build.task)
        finally:
            build.askers -= 1
            if not build.askers:
                del self._building[version]
                build.task.cancel()

    async def _build(self, version: int) -> Snapshot:
        async with self._turns:
            snapshot = await self._loader.at(version)
        self.add(snapshot)
        return snapshot
