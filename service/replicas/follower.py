"""How the memories of a replica follow the ledger.

When a new version is ready, one reference is swapped. While the ledger is away, the last snapshot continues to answer,
and its answers say that they may be stale. The same holds while the ledger is damaged, until a person has repaired it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from service.errors import LedgerCorrupt, LedgerUnavailable
from service.ledger.commit import data_replaced
from service.ledger.snapshots import read_newer
from service.ledger.store import RedisLedger
from service.metrics import metrics
from service.replicas.snapshot import Snapshot, SnapshotLoader

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
