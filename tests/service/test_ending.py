"""A task that swallows a cancellation is ended all the same; what is being closed is closed all the same."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from service.ending import ended, to_its_end


async def deaf(times: int) -> None:
    """Goes on after so many cancellations, as redis-py does where one meets a write that is just done."""
    for _ in range(times):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
    await asyncio.sleep(60)


async def failing() -> None:
    raise ValueError("nobody reads this")


@pytest.mark.parametrize("times", [0, 1, 3])
async def test_a_task_that_does_not_hear_a_cancellation_hears_the_next(times: int) -> None:
    tasks = [asyncio.create_task(deaf(times)), asyncio.create_task(deaf(0))]
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await ended(tasks)
    assert all(task.cancelled() for task in tasks)


async def test_what_ended_by_itself_is_no_error() -> None:
    tasks = [asyncio.create_task(failing()), asyncio.create_task(asyncio.sleep(0))]
    await asyncio.wait(tasks)
    await ended(tasks)
    await ended([])


async def test_what_is_being_closed_is_closed_though_the_closer_is_cancelled() -> None:
    closed = []

    async def close() -> None:
        await asyncio.sleep(0.05)
        closed.append(True)

    closer = asyncio.create_task(to_its_end(close()))
    await asyncio.sleep(0)
    for _ in range(2):
        closer.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await closer
    assert closed == [True]


async def test_what_goes_wrong_in_closing_is_told() -> None:
    with pytest.raises(ValueError, match="nobody reads this"):
        await to_its_end(failing())
