"""What a load balancer and Prometheus ask: alive, ready, metrics. No key, nothing secret.

Some load balancers read nothing but the status, hence HEAD.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from service.concurrency import SingleFlight
from service.http.callee import Callee
from service.http.models import Models
from service.http.openapi import describes
from service.http.readiness import readiness


def routes(models: Models, editor: Callee, page: Callable[[], bytes], replicas: int) -> APIRouter:
    router = APIRouter(tags=["health"])
    looking, merging = (
        SingleFlight[Mapping[str, object]](1),
        SingleFlight[bytes](1),
    )  # strangers may ask as often as they like

    @router.head("/healthz", include_in_schema=False, response_model=None)
    @router.get("/healthz", response_model=None)
    async def alive() -> Response:
        """This process answers."""
        return Response(b'{"status":"ok"}', media_type="application/json")

    @router.head("/readyz", include_in_schema=False, response_model=None)
    @router.get("/readyz", **describes(None, None, 503))
    async def ready() -> Response:
        """Every deployment answers and has the newest version. Without the ledger: ready, but `degraded`."""
        state = await looking.get("state", lambda: readiness(models, editor, replicas))
        return Response(json.dumps(state), media_type="application/json")

    @router.get("/metrics", response_class=PlainTextResponse, response_model=None)
    async def metrics() -> Response:
        """Prometheus text, of all processes on this machine."""
        merged = await merging.get(
            "page", lambda: asyncio.to_thread(page)
        )  # it reads a file of every process
        return Response(merged, media_type=CONTENT_TYPE_LATEST)

    return router
