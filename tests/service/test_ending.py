"""A task that swallows a cancellation is ended all the same."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from service.ending import ended


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
