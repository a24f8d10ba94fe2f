"""Where Prometheus finds all machines, as its HTTP service discovery reads it: every machine has pages of its own.

No key, as for the pages themselves: who may not know the machines must not reach them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import APIRouter
from fastapi.responses import JSONResponse

Find = Callable[[], Awaitable[list[str]]]


def routes(of_ours: Find, of_ray: Find, scheme: str) -> APIRouter:
    """Find: addresses with ports. scheme: http or https, of our own pages; Ray's have no TLS."""
    router = APIRouter(prefix="/discovery", tags=["health"])

    @router.get("/service")
    async def service() -> JSONResponse:
        """Where /metrics is, machine by machine."""
        return JSONResponse([{"targets": await of_ours(), "labels": {"__scheme__": scheme}}])

    @router.get("/ray")
    async def machines() -> JSONResponse:
        """Where Ray's own page is: processor, memory, disk and GPU of each machine."""
        return JSONResponse([{"targets": await of_ray(), "labels": {}}])

    return router
