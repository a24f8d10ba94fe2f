"""How often a caller may call: over all processes together, and here alone when Redis is gone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from service.access.rate_limits import RETRY_REDIS_S, Rate, RateLimiter, RedisCounters
from service.errors import TooMany
from service.ledger.redis.connection import Connection

SLOW = Rate.parse("5/minute")


async def count_accepted(limiter: RateLimiter, caller: str, times: int) -> int:
    """Call so many times; return how many calls were let through."""
    n_accepted = 0
    for _ in range(times):
        try:
            await limiter.count(caller)
        except TooMany:
            continue
        n_accepted += 1
    return n_accepted


async def test_one_call_too_many_is_told_how_long_to_wait(connection: Connection) -> None:
    limiter = RateLimiter(SLOW, RedisCounters(connection), 2.0)
    assert await count_accepted(limiter, "anna", 5) == 5
    with pytest.raises(TooMany, match="5 per 1 minute") as refusal:
        await limiter.count("anna")
    wait_s = refusal.value.extras["retry_after_s"]
    assert isinstance(wait_s, int)
    assert 1 <= wait_s <= 60


async def test_two_processes_count_together_and_callers_apart(connection: Connection) -> None:
    first, second = (RateLimiter(SLOW, RedisCounters(connection), 2.0) for _ in range(2))
    assert await count_accepted(first, "anna", 3) + await count_accepted(second, "anna", 10) == 5
    assert await count_accepted(second, "ben", 10) == 5


async def test_a_call_counts_as_many_and_one_that_is_refused_as_none(connection: Connection) -> None:
    limiter = RateLimiter(SLOW, RedisCounters(connection), 2.0)
    await limiter.count("anna", 3)
    with pytest.raises(TooMany, match="try again in"):
        await limiter.count("anna", 3)
    await limiter.count("anna", 2)
    with pytest.raises(TooMany, match="counts as 6 calls"):
        await limiter.count("ben", 6)


async def test_the_window_slides(connection: Connection) -> None:
    limiter = RateLimiter(Rate.parse("4/second"), RedisCounters(connection), 2.0)
    assert await count_accepted(limiter, "anna", 6) == 4
    await asyncio.sleep(2.05)
    assert await count_accepted(limiter, "anna", 6) == 4


async def test_with_redis_gone_the_limit_holds_here(nowhere: Connection) -> None:
    limiter = RateLimiter(SLOW, RedisCounters(nowhere), 0.2)
    assert await count_accepted(limiter, "anna", 10) == 5


async def test_with_redis_hung_not_every_call_waits_for_it(nowhere: Connection) -> None:
    now, reads = 100.0, 0

    class Hung(RedisCounters):
        async def get_sliding_window(self, *args: Any) -> Any:
            nonlocal reads
            reads += 1
            await asyncio.sleep(3_600)

        acquire_sliding_window_entry = get_sliding_window

    limiter = RateLimiter(SLOW, Hung(nowhere), 0.05, lambda: now)
    assert await count_accepted(limiter, "anna", 10) == 5
    assert reads == 1
    now += RETRY_REDIS_S
    await count_accepted(limiter, "anna", 10)
    assert reads == 2


async def test_no_limit_asks_nobody() -> None:
    assert await count_accepted(RateLimiter(Rate.parse(None), None, 0.2), "anna", 1_000) == 1_000


async def test_calls_under_way_are_counted_until_they_end() -> None:
    limiter = RateLimiter(Rate.parse(None, max_concurrent=2), None, 1.0)
    async with limiter.hold("anna"), limiter.hold("anna"), limiter.hold("ben"):
        with pytest.raises(TooMany, match="under way"):
            async with limiter.hold("anna"):
                pass
    async with limiter.hold("anna"):
        pass


async def test_a_call_that_fails_is_not_under_way_any_more() -> None:
    limiter = RateLimiter(Rate.parse(None, max_concurrent=1), None, 1.0)
    with pytest.raises(KeyError):
        async with limiter.hold("anna"):
            raise KeyError
    async with limiter.hold("anna"):
        pass


@pytest.mark.parametrize("text", ["", "often", "5", "5/fortnight", "-1/minute"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="rate"):
        Rate.parse(text)
