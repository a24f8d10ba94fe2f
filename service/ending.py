"""The one way a task is ended, and the one way something is closed although who closes it is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

AGAIN_S = 0.2


async def ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Returns when each task has ended, whatever with.

    Each is cancelled until it ends: Python 3.11's `wait_for`, in which redis-py writes, swallows a cancellation that
    comes when what it waits for is done.
    """
    tasks = list(tasks)
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=AGAIN_S)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # seen: else the loop would complain that nobody looked


async def to_its_end(closing: Coroutine[Any, Any, None]) -> None:
    """Runs it to its end even when the caller is cancelled meanwhile, who hears of that afterwards.

    Pools of redis-py close their connections in tasks; one that is cancelled before it began leaves its socket open.
    """
    task = asyncio.create_task(closing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as heard:
            cancelled = heard
    if error := cancelled or task.exception():
        raise error
