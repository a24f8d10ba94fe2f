"""The one way a task is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
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
