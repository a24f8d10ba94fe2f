"""Snapshots of older versions, for requests that pin one: the recent ones at hand, any other built when asked."""

from __future__ import annotations

from collections import OrderedDict

from service.concurrency import SingleFlight
from service.replicas.snapshot import Loader, Snapshot

BUILDS = (
    2  # at a time: each reads from the ledger and compiles, which answers and the newest version need too
)


class History:
    """keep: how many snapshots stay; the least recently asked goes first."""

    def __init__(self, loader: Loader, keep: int) -> None:
        self._loader, self._keep = loader, keep
        self._ready: OrderedDict[int, Snapshot] = OrderedDict()
        self._builds = SingleFlight[Snapshot](BUILDS)

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
        return await self._builds.get(version, lambda: self._build(version))

    async def _build(self, version: int) -> Snapshot:
        snapshot = await self._loader.at(version)
        self.add(snapshot)
        return snapshot
