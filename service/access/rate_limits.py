"""How much one caller may call for: a sliding window, counted in Redis for all ingresses together.

With Redis away each process counts for itself, so that a limit holds about as well and answers go on.

Redis layout, by the `limits` library; no other module names these keys:

    {errata}:limit:...    string    calls of one caller in one window; gone when two windows have passed
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from service.errors import TooMany
from service.ledger.keys import PREFIX
from service.ledger.redis.connection import Connection

LIMITS = PREFIX + "limit"
RETRY_REDIS_S = 1.0  # after Redis did not answer: not every call waits for that

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rate:
    """A limit of one caller.

    Attributes:
        limit: Calls in a window, e.g. `600/minute`; None for any number.
        max_concurrent: Calls under way at once; None for any number.
    """

    limit: RateLimitItem | None
    max_concurrent: int | None

    @staticmethod
    def parse(text: str | None, max_concurrent: int | None = None) -> Rate:
        """Raises ValueError for what is no rate."""
        try:
            return Rate(None if text is None else parse(text), max_concurrent)
        except ValueError as error:
            raise ValueError(f"{text!r} is no rate: write 600/minute, 10 per 2 second, or none") from error


class RedisCounters(RedisStorage):
    """Counters over the ledger's own connection, so that a cluster, TLS and time limits are the same for both.

    Never connects by itself: the address that the library wants is nobody's.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__("async+redis://nobody:0", implementation="redispy", key_prefix=LIMITS)
        self.bridge.connection_getter = lambda readonly: connection.commands  # type: ignore[attr-defined]
        self.bridge.register_scripts()


class RateLimiter:
    """Counts the calls of each caller.

    Args:
        shared: Where all processes count; None to count in this process alone.
        timeout_s: How long Redis may take before this process counts alone for a while.
        clock: Monotonic time in seconds.
    """

    def __init__(
        self,
        rate: Rate,
        shared: Storage | None,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate, self._timeout_s, self._clock = rate, timeout_s, clock
        self._local_until = float("-inf")
        self._shared = None if shared is None else SlidingWindowCounterRateLimiter(shared)
        self._local = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._calls: Counter[str] = Counter()

    async def count(self, caller: str, cost: int = 1) -> None:
        """Count a call as so many. Raises TooMany, and counts nothing, when these are too many."""
        if self._rate.limit is None:
            return
        if self._shared is not None and self._clock() >= self._local_until:
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self._hit(self._shared, self._rate.limit, caller, cost)
                    return
            except TooMany:
                raise
            except Exception as error:  # whatever the library meets on its way to Redis
                log.warning("calls are counted here alone for %g s: %s", RETRY_REDIS_S, type(error).__name__)
                self._local_until = self._clock() + RETRY_REDIS_S
        await self._hit(self._local, self._rate.limit, caller, cost)

    async def _hit(
        self, window: SlidingWindowCounterRateLimiter, limit: RateLimitItem, caller: str, cost: int
    ) -> None:
        if cost > limit.amount:
            raise TooMany(
                f"this counts as {cost:,} calls, and this caller may call {limit}: send less at once"
            )
        if not await window.hit(limit, caller, cost=cost):
            stats = await window.get_window_stats(limit, caller)
            wait_s = max(1, math.ceil(stats.reset_time - time.time()))
            raise TooMany(f"this caller may call {limit}: try again in {wait_s} s", retry_after_s=wait_s)

    @asynccontextmanager
    async def hold(self, caller: str) -> AsyncIterator[None]:
        """Count a call as under way while the block runs. Raises TooMany at the caller's maximum."""
        maximum = self._rate.max_concurrent
        if maximum is None:
            yield
            return
        if self._calls[caller] >= maximum:
            raise TooMany(f"{maximum} calls of this caller are under way: wait for one of them")
        self._calls[caller] += 1
        try:
            yield
        finally:
            self._calls[caller] -= 1
            if not self._calls[caller]:
                del self._calls[caller]
