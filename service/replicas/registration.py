"""Tell the ledger that this replica lives and where it stands: once a second, and at once after each swap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from service.errors import LedgerUnavailable
from service.ledger.store import Ledger

EVERY_S = 1.0


class Registration:
    """The heartbeat. applied_ms: how long after its commit the newest version was ready here; None at the start.

    seen: told with each heartbeat which version is the ledger's newest, so that who is stuck knows it.
    """

    def __init__(
        self,
        ledger: Ledger,
        replica: str,
        status: Callable[[], Mapping[str, Any]],
        seen: Callable[[int], None],
    ) -> None:
        self._ledger, self._replica, self._status, self._seen = ledger, replica, status, seen
        self._wake = asyncio.Event()
        self.applied_ms: float | None = None

    def soon(self) -> None:
        self._wake.set()

    async def now(self) -> None:
        """Raises LedgerUnavailable."""
        payload = {**self._status(), "applied_ms": self.applied_ms}
        await self._ledger.heartbeat(self._replica, payload)  # first: commits wait for it
        self._seen(await self._ledger.head())

    async def run(self) -> None:
        while True:
            self._wake.clear()
            with suppress(LedgerUnavailable):
                await self.now()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), EVERY_S)
