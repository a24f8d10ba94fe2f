"""Limits of a caller's calls: a sliding window, counted in Redis for all ingresses together.

With Redis away each process counts separately, so that a limit holds approximately and answers continue. The Redis
layout, by the `limits` library; no other module names these keys:

    {errata}:limit:...    string    calls of one caller in one window; gone when two windows have passed
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import cast

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage, RedisStorage, SlidingWindowCounterSupport, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from service.concurrency import cancel_and_wait
from service.errors import TooMany
from service.ledger.connection import Connection
from service.ledger.keys import PREFIX

LIMITS = PREFIX + "limit"
RETRY_REDIS_S = 1.0  # pause between two attempts while Redis is away

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rate:
    limit: RateLimitItem | None  # Calls in a window, e.g. `600/minute`; None for any number.
    max_concurrent: int | None  # calls under way at once; None for any number

    @staticmethod
    def parse(text: str | None, max_concurrent: int | None = None) -> Rate:
        try:
            return Rate(None if text is None else parse(text), max_concurrent)
        except ValueError as error:
            raise ValueError(f"{text!r} is no rate: write 600/minute, 10 per 2 second, or none") from error


class RedisCounters(RedisStorage):
    """Counters over the ledger's own connection, so that Sentinels, TLS and time limits are the same for both.

    It never connects by itself: the address that the library asks for is a placeholder.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__("async+redis://nobody:0", implementation="redispy", key_prefix=LIMITS)
        self.bridge.connection_getter = lambda readonly: connection.commands  # type: ignore[attr-defined]
        self.bridge.register_scripts()


async def take(window: SlidingWindowCounterRateLimiter, limit: RateLimitItem, caller: str, cost: int) -> None:
    """Count calls of this cost in a window; raise TooMany at the limit."""
    if not await window.hit(limit, caller, cost=cost):
        counts = await cast(SlidingWindowCounterSupport, window.storage).get_sliding_window(
            limit.key_for(caller), limit.get_expiry()
        )
        retry_after_s = max(1, math.ceil(find_wait(limit, cost, *counts)))
        raise TooMany(
            f"this caller may call {limit}: try again in {retry_after_s} s", retry_after_s=retry_after_s
        )


def find_wait(
    limit: RateLimitItem, cost: int, previous: int, previous_s: float, current: int, current_s: float
) -> float:
    """Return the seconds until a call of this cost fits, if its caller makes no other meanwhile.

    The previous window counts by the share of it that is within the last window's length, so it fades until the
    current window takes its place and fades in turn.

    Args:
        previous, current: Calls in the two windows.
        previous_s, current_s: Seconds until each of them counts for nothing.
    """
    length_s, room = limit.get_expiry(), limit.amount - cost
    if current <= room and previous:
        return previous_s - (room - current) * length_s / previous
    return current_s - room * length_s / current if current else 0.0


class RateLimiter:
    """Counts the calls of each caller.

    Args:
        shared: Counters of all processes; None to count in this process alone.
        timeout_s: Seconds that a call waits for Redis; then no call waits until Redis answers again.
        on_refusal: Receives the limit that refused a call: rate or concurrent.
    """

    def __init__(
        self,
        rate: Rate,
        shared: Storage | None,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
        on_refusal: Callable[[str], None] = lambda limit: None,
    ) -> None:
        self._rate, self._clock, self._on_refusal = rate, clock, on_refusal
        self._timeout_s = timeout_s
        self._shared = None if shared is None else SlidingWindowCounterRateLimiter(shared)
        self._is_away, self._retry_at = False, 0.0
        self._local = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._calls: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    async def count(self, caller: str, cost: int = 1) -> None:
        """Count a call of this cost; raise TooMany at the limit."""
        if self._rate.limit is None:
            return
        if cost > self._rate.limit.amount:
            self._on_refusal("rate")
            raise TooMany(
                f"this counts as {cost:,} calls, and this caller may call {self._rate.limit}: send less at once"
            )
        if self._is_away and self._clock() >= self._retry_at:
            self._retry_at = self._clock() + RETRY_REDIS_S
            task = asyncio.create_task(self._try_again())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            if self._shared is None or self._is_away or not await self._count_shared(caller, cost):
                await take(self._local, self._rate.limit, caller, cost)
        except TooMany:
            self._on_refusal("rate")
            raise

    async def _count_shared(self, caller: str, cost: int) -> bool:
        """Count in Redis, or return False if it does not answer."""
        assert self._shared is not None
        assert self._rate.limit is not None
        try:
            async with asyncio.timeout(self._timeout_s):
                await take(self._shared, self._rate.limit, caller, cost)
        except TooMany:
            raise
        except Exception as error:  # the library may raise anything on its way to Redis
            if not self._is_away:
                log.warning("calls are counted here alone until Redis answers: %s", type(error).__name__)
            self._is_away, self._retry_at = True, self._clock() + RETRY_REDIS_S
            return False
        return True

    async def _try_again(self) -> None:
        assert self._shared is not None
        assert self._rate.limit is not None
        with suppress(Exception):  # a later call tries again
            async with asyncio.timeout(self._timeout_s):
                await self._shared.test(self._rate.limit, "nobody")
            self._is_away = False
            log.warning("Redis answers: calls are counted there again")

    @asynccontextmanager
    async def hold(self, caller: str) -> AsyncIterator[None]:
        """Count a call as under way while the block runs; raise TooMany at the caller's maximum."""
        maximum = self._rate.max_concurrent
        if maximum is None:
            yield
            return
        if self._calls[caller] >= maximum:
            self._on_refusal("concurrent")
            raise TooMany(f"{maximum} calls of this caller are under way: wait for one of them")
        self._calls[caller] += 1
        try:
            yield
        finally:
            self._calls[caller] -= 1
            if not self._calls[caller]:
                del self._calls[caller]

    async def aclose(self) -> None:
        await cancel_and_wait(self._tasks)
