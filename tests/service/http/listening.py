"""The ingress on a real socket, and how long an event loop is blocked in processor time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import process_time

import uvicorn
from fastapi import FastAPI

from service.http.protocol import BoundedProtocol

LIMIT_S = 60.0


@asynccontextmanager
async def listening(app: FastAPI) -> AsyncIterator[str]:
    """Serve and yield the address. It runs in this event loop, so that the application may use objects of it."""
    config = uvicorn.Config(app, http=BoundedProtocol, port=0, log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(LIMIT_S):
            while not server.started:  # noqa: ASYNC110  # uvicorn sets a flag and wakes no task
                await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


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
