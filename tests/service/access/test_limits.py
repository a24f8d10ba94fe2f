"""How often a caller may call: over all processes together, and here alone when Redis is gone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from service.access.limits import ALONE_S, Limits, Rate
from service.access.shared_counts import SharedCounts
from service.errors import TooMany
from service.ledger.redis.connection import Connection

SLOW = Rate.of("5/minute")


async def taken(limits: Limits, who: str, times: int) -> int:
    """How many of so many calls were let through."""
    done = 0
    for _ in range(times):
        try:
            await limits.count(who)
        except TooMany:
            continue
        done += 1
    return done


async def test_one_call_too_many_is_told_how_long_to_wait(connection: Connection) -> None:
    limits = Limits(SLOW, SharedCounts(connection), 2.0)
    assert await taken(limits, "anna", 5) == 5
    with pytest.raises(TooMany, match="5 per 1 minute") as refusal:
        await limits.count("anna")
    wait_s = refusal.value.extras["retry_after_s"]
    assert isinstance(wait_s, int)
    assert 1 <= wait_s <= 60


async def test_two_processes_count_together_and_callers_apart(connection: Connection) -> None:
    one, other = (Limits(SLOW, SharedCounts(connection), 2.0) for _ in range(2))
    assert await taken(one, "anna", 3) + await taken(other, "anna", 10) == 5
    assert await taken(other, "ben", 10) == 5


async def test_the_window_slides(connection: Connection) -> None:
    limits = Limits(Rate.of("4/second"), SharedCounts(connection), 2.0)
    assert await taken(limits, "anna", 6) == 4
    await asyncio.sleep(2.05)
    assert await taken(limits, "anna", 6) == 4


async def test_with_redis_gone_the_limit_holds_here(nowhere: Connection) -> None:
    limits = Limits(SLOW, SharedCounts(nowhere), 0.2)
    assert await taken(limits, "anna", 10) == 5


async def test_with_redis_hung_not_every_call_waits_for_it(nowhere: Connection) -> None:
    now, tries = 100.0, 0

    class Hung(SharedCounts):
        async def get_sliding_window(self, *args: Any) -> Any:
            nonlocal tries
            tries += 1
            await asyncio.sleep(3_600)

        acquire_sliding_window_entry = get_sliding_window

    limits = Limits(SLOW, Hung(nowhere), 0.05, lambda: now)
    assert await taken(limits, "anna", 10) == 5
    assert tries == 1
    now += ALONE_S
    await taken(limits, "anna", 10)
    assert tries == 2


async def test_no_limit_asks_nobody() -> None:
    assert await taken(Limits(Rate.of(None), None, 0.2), "anna", 1_000) == 1_000


async def test_calls_under_way_are_counted_until_they_end() -> None:
    limits = Limits(Rate.of(None, at_once=2), None, 1.0)
    async with limits.at_once("anna"), limits.at_once("anna"), limits.at_once("ben"):
        with pytest.raises(TooMany, match="under way"):
            async with limits.at_once("anna"):
                pass
    async with limits.at_once("anna"):
        pass


async def test_a_call_that_fails_is_not_under_way_any_more() -> None:
    limits = Limits(Rate.of(None, at_once=1), None, 1.0)
    with pytest.raises(KeyError):
        async with limits.at_once("anna"):
            raise KeyError
    async with limits.at_once("anna"):
        pass


@pytest.mark.parametrize("text", ["", "often", "5", "5/fortnight", "-1/minute"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="rate"):
        Rate.of(text)
