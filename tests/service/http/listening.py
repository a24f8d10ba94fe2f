"""The ingress on a real socket, for clients that bring their own transport."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
