"""How often one caller may call: a window that slides, counted in Redis for all ingresses together.

With Redis gone each process counts for itself, so that a limit holds about as well and answers go on.

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
from limits.aio.storage import MemoryStorage, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from service.errors import TooMany

ALONE_S = 1.0  # after Redis did not answer: not every call waits for that

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rate:
    """most: calls of one caller, e.g. `600/minute`; None for any number. at_once: of these, how many together."""

    most: RateLimitItem | None
    at_once: int | None

    @staticmethod
    def of(text: str | None, at_once: int | None = None) -> Rate:
        """ValueError for what is no rate."""
        try:
            return Rate(None if text is None else parse(text), at_once)
        except ValueError as error:
            raise ValueError(f"{text!r} is no rate: write 600/minute, 10 per 2 second, or none") from error


class Limits:
    """shared: where all processes count; None to count here alone."""

    def __init__(
        self,
        rate: Rate,
        shared: Storage | None,
        limit_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate, self._limit_s, self._clock = rate, limit_s, clock
        self._alone_until = float("-inf")
        self._shared = None if shared is None else SlidingWindowCounterRateLimiter(shared)
        self._alone = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._under_way: Counter[str] = Counter()

    async def count(self, who: str) -> None:
        """TooMany when it is one call too many."""
        if self._rate.most is None:
            return
        if self._shared is not None and self._clock() >= self._alone_until:
            try:
                async with asyncio.timeout(self._limit_s):
                    await self._count(self._shared, self._rate.most, who)
                    return
            except TooMany:
                raise
            except Exception as error:  # whatever the library meets on its way to Redis
                log.warning("calls are counted here alone for %g s: %s", ALONE_S, type(error).__name__)
                self._alone_until = self._clock() + ALONE_S
        await self._count(self._alone, self._rate.most, who)

    async def _count(self, counting: SlidingWindowCounterRateLimiter, most: RateLimitItem, who: str) -> None:
        if not await counting.hit(most, who):
            stats = await counting.get_window_stats(most, who)
            wait_s = max(1, math.ceil(stats.reset_time - time.time()))
            raise TooMany(f"this caller may call {most}: try again in {wait_s} s", retry_after_s=wait_s)

    @asynccontextmanager
    async def at_once(self, who: str) -> AsyncIterator[None]:
        """For as long as a call takes. TooMany when as many of this caller's are under way as may be."""
        if self._rate.at_once is None:
            yield
            return
        if self._under_way[who] >= self._rate.at_once:
            raise TooMany(f"{self._rate.at_once} calls of this caller are under way: wait for one of them")
        self._under_way[who] += 1
        try:
            yield
        finally:
            self._under_way[who] -= 1
            if not self._under_way[who]:
                del self._under_way[who]
