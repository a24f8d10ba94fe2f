"""A single flight runs once for all callers; a task that swallows a cancellation ends all the same."""

import asyncio
from contextlib import suppress

import pytest

from service.concurrency import cancel_and_wait
from service.refreshing import Refreshing
from service.single_flight import SingleFlight
from tests.service.parts import PATIENCE_S, run_ready


class Maker:
    """Makes a number when `go` is set. running, peak: how many calls are under way, and were at most."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.calls = self.running = self.peak = 0

    async def __call__(self) -> int:
        self.calls += 1
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        return self.calls


async def test_concurrent_requests_for_a_key_share_a_task_and_a_later_one_starts_another() -> None:
    flights, make = SingleFlight[int](2), Maker()
    waiters = [asyncio.create_task(flights.get("key", make)) for _ in range(5)]
    await asyncio.sleep(0)
    make.go.set()
    assert await asyncio.gather(*waiters) == [1] * 5
    assert await flights.get("key", make) == 2


async def test_no_more_tasks_run_together_than_may() -> None:
    flights, make = SingleFlight[int](2), Maker()
    waiters = [asyncio.create_task(flights.get(number, make)) for number in range(6)]
    await run_ready()
    assert make.calls == 2
    make.go.set()
    await asyncio.gather(*waiters)
    assert (make.calls, make.peak) == (6, 2)


async def test_a_task_is_cancelled_with_the_last_who_waits_and_not_before() -> None:
    flights, make = SingleFlight[int](1), Maker()
    first, last = (asyncio.create_task(flights.get("key", make)) for _ in range(2))
    await run_ready()
    first.cancel()
    await run_ready()
    assert make.running == 1
    last.cancel()
    await run_ready()
    assert make.running == 0
    make.go.set()
    assert await flights.get("key", make) == 2


async def test_a_failure_is_raised_for_all_who_wait_and_tried_again() -> None:
    tries = 0

    async def fail() -> int:
        nonlocal tries
        tries += 1
        await asyncio.sleep(0.01)
        raise ValueError("broken")

    flights = SingleFlight[int](1)
    errors = await asyncio.gather(*(flights.get("key", fail) for _ in range(3)), return_exceptions=True)
    assert [str(error) for error in errors] == ["broken"] * 3
    with pytest.raises(ValueError, match="broken"):
        await flights.get("key", fail)
    assert tries == 2


async def swallow(cancellations: int) -> None:
    """Goes on after so many cancellations, as redis-py does where one meets a write that is just done."""
    for _ in range(cancellations):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
    await asyncio.sleep(60)


async def fail() -> None:
    raise ValueError("nobody reads this")


@pytest.mark.parametrize("cancellations", [0, 1, 3])
async def test_a_task_that_swallows_cancellations_ends_all_the_same(cancellations: int) -> None:
    tasks = [asyncio.create_task(swallow(cancellations)), asyncio.create_task(swallow(0))]
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_S):
        await cancel_and_wait(tasks)
    assert all(task.cancelled() for task in tasks)


async def test_all_who_want_a_value_share_a_reading_and_none_begins_before_the_pause_is_over() -> None:
    now, n_readings = 0.0, 0

    async def read() -> int:
        nonlocal n_readings
        n_readings += 1
        await asyncio.sleep(0)
        return n_readings

    value = Refreshing(read, pause_s=5.0, clock=lambda: now)
    assert value.is_new
    assert await asyncio.gather(*(value.get() for _ in range(8))) == [1] * 8
    now = 4.9
    assert await value.get() == 1
    now = 5.0
    assert await value.get() == 2


async def test_a_value_stays_while_later_readings_fail_or_hang() -> None:
    now, failure, answers = 0.0, OSError("it is away"), asyncio.Event()
    answers.set()
    errors: list[Exception | None] = [None, failure, None]

    async def read() -> str:
        await answers.wait()
        if error := errors.pop(0):
            raise error
        return "read"

    value = Refreshing(read, clock=lambda: now)
    await value.refresh()
    assert (value.value, value.current(1.0), value.age_s) == ("read", "read", 0.0)
    now = 2.0
    assert value.current(1.0) is None, "too old"
    with pytest.raises(OSError, match="it is away"):
        await value.get()
    assert (value.value, value.error, value.current(10.0)) == ("read", failure, None)
    answers.clear()
    await value.refresh(0.01)
    assert value.task is not None
    answers.set()
    assert await value.get() == "read"
    assert value.current(1.0) == "read"
