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
    """The heartbeat. applied_ms: how long after its commit the newest version was ready here; None at the start."""

    def __init__(self, ledger: Ledger, replica: str, status: Callable[[], Mapping[str, Any]]) -> None:
        self._ledger, self._replica, self._status = ledger, replica, status
        self._wake = asyncio.Event()
        self.applied_ms: float | None = None

    def soon(self) -> None:
        self._wake.set()

    async def now(self) -> None:
        """Raises LedgerUnavailable."""
        payload = {**self._status(), "applied_ms": self.applied_ms}
        await self._ledger.heartbeat(self._replica, payload)

    async def run(self) -> None:
        while True:
            self._wake.clear()
            with suppress(LedgerUnavailable):
                await self.now()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), EVERY_S)
