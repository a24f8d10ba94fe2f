"""Limits of a caller's calls: a sliding window, counted in Redis for all ingresses together.

An ingress takes calls from the window a lease at a time, so that most calls need no request to Redis. With Redis away
each process counts separately, so that a limit holds approximately and answers continue.

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
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from cachetools import LRUCache
from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from service.concurrency import cancel_and_wait
from service.errors import TooMany
from service.ledger.keys import PREFIX
from service.ledger.redis.connection import Connection

LIMITS = PREFIX + "limit"
LEASES = 100  # leases that a limit is divided into
RETRY_REDIS_S = 1.0  # pause between two attempts while Redis is away
MAX_CALLERS = 10_000  # callers whose leases are kept

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rate:
    """A limit of one caller."""

    limit: RateLimitItem | None  # Calls in a window, e.g. `600/minute`; None for any number.
    max_concurrent: int | None  # calls under way at once; None for any number

    @staticmethod
    def parse(text: str | None, max_concurrent: int | None = None) -> Rate:
        """Parse a rate; raise ValueError for a text that is none."""
        try:
            return Rate(None if text is None else parse(text), max_concurrent)
        except ValueError as error:
            raise ValueError(f"{text!r} is no rate: write 600/minute, 10 per 2 second, or none") from error


class RedisCounters(RedisStorage):
    """Counters over the ledger's own connection, so that a cluster, TLS and time limits are the same for both.

    It never connects by itself: the address that the library asks for is a placeholder.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__("async+redis://nobody:0", implementation="redispy", key_prefix=LIMITS)
        self.bridge.connection_getter = lambda readonly: connection.commands  # type: ignore[attr-defined]
        self.bridge.register_scripts()


@dataclass
class Lease:
    """The calls of one caller that the shared window has counted already and that may still come."""

    balance: int = 0  # number of calls that are left
    ends_at: float = 0.0  # monotonic time at which the window has forgotten them
    refused_cost: int = 0  # cost for which the window has no room until `refused_until`
    refused_until: float = 0.0
    # Lock that is held while more calls are requested
    renewing: asyncio.Lock = field(default_factory=asyncio.Lock)


class LeasedWindow:
    """One limit in Redis, from which each caller's calls are taken a lease at a time.

    Args:
        storage: Counters of all processes.
        clock: Monotonic time in seconds.
    """

    def __init__(self, limit: RateLimitItem, storage: Storage, clock: Callable[[], float]) -> None:
        self._limit, self._clock = limit, clock
        self._window = SlidingWindowCounterRateLimiter(storage)
        self._size = max(1, limit.amount // LEASES)
        self._leases: LRUCache[str, Lease] = LRUCache(MAX_CALLERS)

    async def take(self, caller: str, cost: int) -> None:
        """Count calls of this cost; raise TooMany at the limit."""
        lease = self._lease(caller)
        if lease.balance < cost:
            async with lease.renewing:
                if lease.balance < cost:
                    await self._renew(lease, caller, cost)
        lease.balance -= cost

    async def ask(self) -> None:
        """Raise the error that keeps Redis from being asked, if there is one."""
        await self._window.test(self._limit, "nobody")

    def _lease(self, caller: str) -> Lease:
        lease = self._leases.get(caller)
        if lease is None:
            lease = self._leases[caller] = Lease()
        if lease.balance and self._clock() >= lease.ends_at:
            lease.balance = 0
        return lease

    async def _renew(self, lease: Lease, caller: str, cost: int) -> None:
        """Take a whole lease, or near the limit only the calls that are needed."""
        if cost >= lease.refused_cost and self._clock() < lease.refused_until:
            raise too_many(self._limit, lease.refused_until - self._clock())
        for amount in sorted({max(self._size, cost), cost}, reverse=True):
            if await self._window.hit(self._limit, caller, cost=amount):
                lease.balance += amount
                lease.ends_at = self._clock() + self._limit.get_expiry()
                return
        wait_s = await time_to_room(self._window, self._limit, caller)
        lease.refused_cost, lease.refused_until = cost, self._clock() + wait_s
        raise too_many(self._limit, wait_s)


async def time_to_room(window: SlidingWindowCounterRateLimiter, limit: RateLimitItem, caller: str) -> float:
    """Return the seconds until the window has room for a call."""
    stats = await window.get_window_stats(limit, caller)
    return max(0.0, stats.reset_time - time.time())


def too_many(limit: RateLimitItem, wait_s: float) -> TooMany:
    retry_after_s = max(1, math.ceil(wait_s))
    detail = f"this caller may call {limit}: try again in {retry_after_s} s"
    return TooMany(detail, retry_after_s=retry_after_s)


class RateLimiter:
    """Counts the calls of each caller.

    Args:
        shared: Counters of all processes; None to count in this process alone.
        timeout_s: Seconds that a call waits for Redis; then no call waits until Redis answers again.
        clock: Monotonic time in seconds.
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
        self._shared: LeasedWindow | None = None
        if shared is not None and rate.limit is not None:
            self._shared = LeasedWindow(rate.limit, shared, clock)
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
            is_alone = self._shared is None or self._is_away or not await self._count_shared(caller, cost)
            if is_alone and not await self._local.hit(limit := self._rate.limit, caller, cost=cost):
                raise too_many(limit, await time_to_room(self._local, limit, caller))
        except TooMany:
            self._on_refusal("rate")
            raise

    async def _count_shared(self, caller: str, cost: int) -> bool:
        """Count in Redis, or return False if it does not answer."""
        assert self._shared is not None
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._shared.take(caller, cost)
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
        with suppress(Exception):  # a later call tries again
            async with asyncio.timeout(self._timeout_s):
                await self._shared.ask()
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
