"""How often a caller may call: over all processes together, and in this process alone while Redis is gone."""

import asyncio
import time
from typing import Any

import pytest

from service.access import rate_limits
from service.access.rate_limits import (
    LIMITS,
    RETRY_REDIS_S,
    Rate,
    RateLimiter,
    RedisCounters,
    find_wait,
)
from service.errors import TooMany
from service.ledger.connection import Connection
from tests.service.parts import PATIENCE_S

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
    limiter = RateLimiter(SLOW, RedisCounters(connection), PATIENCE_S)
    assert await count_accepted(limiter, "anna", 5) == 5
    with pytest.raises(TooMany, match="5 per 1 minute") as refusal:
        await limiter.count("anna")
    wait_s = refusal.value.extras["retry_after_s"]
    assert isinstance(wait_s, int)
    assert 12 <= wait_s <= 72, (
        "the window has to end, and a fifth of the next to pass, before there is room for one"
    )


async def test_two_processes_count_together_and_callers_apart(connection: Connection) -> None:
    first, second = (RateLimiter(SLOW, RedisCounters(connection), PATIENCE_S) for _ in range(2))
    assert await count_accepted(first, "anna", 3) + await count_accepted(second, "anna", 10) == 5
    assert await count_accepted(second, "ben", 10) == 5


async def test_a_call_counts_as_many_and_one_that_is_refused_as_none(connection: Connection) -> None:
    limiter = RateLimiter(SLOW, RedisCounters(connection), PATIENCE_S)
    await limiter.count("anna", 3)
    with pytest.raises(TooMany, match="try again in"):
        await limiter.count("anna", 3)
    await limiter.count("anna", 2)
    with pytest.raises(TooMany, match="counts as 6 calls"):
        await limiter.count("ben", 6)


@pytest.mark.parametrize(
    ("counts", "cost", "wait_s"),
    [
        ((0, 0.0, 10, 20.0), 1, 11.0),  # the current window has to end, and then to fade by a tenth
        ((0, 0.0, 10, 15.0), 10, 15.0),
        ((10, 8.0, 0, 18.0), 5, 3.0),  # the window before fades to a half
        ((10, 8.0, 4, 18.0), 6, 8.0),
        ((10, 8.0, 5, 18.0), 6, 10.0),
        ((10, 2.0, 10, 12.0), 5, 7.0),
    ],
)
def test_the_wait_is_until_the_whole_cost_fits(
    counts: tuple[int, float, int, float], cost: int, wait_s: float
) -> None:
    assert find_wait(Rate.parse("10/10 second").limit, cost, *counts) == pytest.approx(wait_s)  # type: ignore[arg-type]


async def test_a_costly_call_that_waits_as_long_as_it_was_told_fits(connection: Connection) -> None:
    limiter = RateLimiter(Rate.parse("4/second"), RedisCounters(connection), PATIENCE_S)
    await limiter.count("anna", 4)
    with pytest.raises(TooMany) as refusal:
        await limiter.count("anna", 3)
    await asyncio.sleep(refusal.value.extras["retry_after_s"])
    await limiter.count("anna", 3)


async def test_the_window_slides(connection: Connection) -> None:
    limiter = RateLimiter(Rate.parse("4/second"), RedisCounters(connection), PATIENCE_S)
    assert await count_accepted(limiter, "anna", 6) == 4
    await asyncio.sleep(2.05)
    assert await count_accepted(limiter, "anna", 6) == 4


async def test_with_redis_gone_the_limit_holds_here(nowhere: Connection) -> None:
    limiter = RateLimiter(SLOW, RedisCounters(nowhere), 0.2)
    assert await count_accepted(limiter, "anna", 10) == 5


class Hanging(RedisCounters):
    """A window that does not answer until it is told to. reads: number of requests to it."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.reads, self.answers = 0, asyncio.Event()

    async def get_sliding_window(self, *args: Any) -> Any:
        self.reads += 1
        await self.answers.wait()
        return await super().get_sliding_window(*args)

    async def acquire_sliding_window_entry(self, *args: Any) -> bool:
        self.reads += 1
        await self.answers.wait()
        return await super().acquire_sliding_window_entry(*args)


async def test_with_redis_hung_not_every_call_waits_for_it(nowhere: Connection) -> None:
    now, hanging = 100.0, Hanging(nowhere)
    limiter = RateLimiter(SLOW, hanging, 0.05, lambda: now)
    assert await count_accepted(limiter, "anna", 10) == 5
    assert hanging.reads == 1
    now += RETRY_REDIS_S
    await count_accepted(limiter, "anna", 10)
    await asyncio.sleep(0)
    assert hanging.reads == 2
    await limiter.aclose()


async def test_with_redis_hung_a_call_waits_once_and_no_later_one_does(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "RETRY_REDIS_S", 0.02)
    hanging, timeout_s = Hanging(connection), 0.2
    limiter = RateLimiter(Rate.parse("100000/minute"), hanging, timeout_s)
    waits_s = await measure_waits(limiter, 400)
    assert waits_s[0] >= timeout_s
    assert hanging.reads > 5, "calls ask again whether Redis is back"
    assert sum(wait_s >= timeout_s for wait_s in waits_s[1:]) <= 2, (
        "and none but on a busy machine waits for it"
    )
    hanging.answers.set()
    async with asyncio.timeout(PATIENCE_S):
        while not await connection.commands.keys(f"{LIMITS}*anna*"):
            await limiter.count("anna")
            await asyncio.sleep(0.05)
    await limiter.aclose()


async def measure_waits(limiter: RateLimiter, times: int) -> list[float]:
    waits_s: list[float] = []
    for _ in range(times):
        started_at = time.perf_counter()
        await limiter.count("anna")
        waits_s.append(time.perf_counter() - started_at)
        await asyncio.sleep(0.003)
    return waits_s


async def test_two_ingresses_admit_the_limit_together(connection: Connection) -> None:
    limiters = [
        RateLimiter(Rate.parse("100/minute"), RedisCounters(connection), PATIENCE_S) for _ in range(2)
    ]
    n_accepted = sum([await count_accepted(limiters[number % 2], "anna", 7) for number in range(0, 40)])
    assert n_accepted == 100


async def test_a_call_may_count_for_several(connection: Connection) -> None:
    limiter = RateLimiter(Rate.parse("1000/minute"), RedisCounters(connection), PATIENCE_S)
    await limiter.count("anna", cost=990)
    with pytest.raises(TooMany):
        await limiter.count("anna", cost=20)
    await limiter.count("anna", cost=10)
    with pytest.raises(TooMany):
        await limiter.count("anna")
    await limiter.aclose()


async def test_a_refusal_is_reported_with_its_limit() -> None:
    refusals: list[str] = []
    limiter = RateLimiter(Rate.parse("1/minute", 1), None, 1.0, on_refusal=refusals.append)
    await count_accepted(limiter, "anna", 2)
    async with limiter.hold("anna"):
        with pytest.raises(TooMany):
            async with limiter.hold("anna"):
                pass
    assert refusals == ["rate", "concurrent"]


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
