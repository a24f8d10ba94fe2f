"""The heartbeat of a replica, once a second and after each new snapshot, with the time that it is behind the ledger.

The time is by the replica's own machine's clock, since clocks differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from service.errors import LedgerUnavailable
from service.ledger.store import RedisLedger

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
