"""A replica's memory at one version: what a batch holds from its first question to its last."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from models.memory import Image, View
from models.system import System
from service.errors import LedgerCorrupt
from service.graph.lookup import Lookup
from service.ledger import images
from service.ledger.commit import Commit
from service.ledger.store import Ledger


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Immutable: an edit makes another one. digest: of the version's commit, "" for version 0."""

    version: int
    digest: str
    image: Image
    view: View

    @property
    def checksum(self) -> str:
        return self.image.checksum


class Loader:
    """Makes snapshots of one system's memory out of the ledger. Compiling never blocks the event loop.

    lookup: of a system that reads the graph; every view is made known to it.
    """

    def __init__(self, ledger: Ledger, system: System, lookup: Lookup | None = None) -> None:
        self._ledger, self._system, self._lookup = ledger, system, lookup

    async def at(self, version: int) -> Snapshot:
        """From the nearest manifest and the commits after it; the base needs no ledger. VersionDropped."""
        if version == 0:
            return await self._compiled(0, "", self._system.base)
        (await self._ledger.kept()).check(version)
        try:
            found = await images.load(self._ledger, version, {self._system.memory: self._system.base})
        except LedgerCorrupt:
            (await self._ledger.kept()).check(version)  # it may have been dropped meanwhile
            raise
        commit = await self._ledger.get(version)
        return await self._compiled(version, commit.digest, found[self._system.memory])

    async def after(self, snapshot: Snapshot, commits: Sequence[Commit]) -> Snapshot:
        """`snapshot` with the commits that follow it."""
        found = await images.advance({self._system.memory: snapshot.image}, commits, self._ledger)
        image, last = found[self._system.memory], commits[-1]
        if image is snapshot.image:
            return Snapshot(last.version, last.digest, image, snapshot.view)
        return await self._compiled(last.version, last.digest, image)

    async def _compiled(self, version: int, digest: str, image: Image) -> Snapshot:
        view = await asyncio.to_thread(self._system.view, image)
        if self._lookup is not None:
            await self._lookup.prepare(view)
        return Snapshot(version, digest, image, view)
