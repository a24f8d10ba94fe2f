"""How long an event loop is held up, in processor time, which other processes of a busy machine do not lengthen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import process_time

TICK_S = 0.001


@asynccontextmanager
async def watching() -> AsyncIterator[list[float]]:
    """Seconds that this process computed from one turn of the loop to the next, by whichever of its threads."""
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
