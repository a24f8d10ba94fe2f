"""Measures how long an event loop is blocked, in processor time, which other processes do not change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import process_time

TICK_S = 0.001


@asynccontextmanager
async def watching() -> AsyncIterator[list[float]]:
    """Yield the seconds that this process computed between two turns of the loop, in any of its threads."""
    pauses_s: list[float] = []

    async def tick() -> None:
        before = process_time()
        while True:
            await asyncio.sleep(TICK_S)
            pauses_s.append((now := process_time()) - before)
            before = now

    task = asyncio.create_task(tick())
    await asyncio.sleep(0)
    try:
        yield pauses_s
        await asyncio.sleep(TICK_S)
    finally:
        task.cancel()
