"""Counts, times and logs every request, once, at the edge. Labels are the routes' templates, so there are few."""

from __future__ import annotations

import logging
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.audit.calls import CLIENT_GONE
from service.metrics import metrics

log = logging.getLogger(__name__)

NO_ROUTE, OTHER_METHOD = "none", "other"
PROBES = frozenset({"/healthz", "/readyz"})  # routes asked every second; a 503 is no failure
BUSIEST = ("/v1/answers", "/admin/edits")
METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
)  # clients invent further ones


class MetricsMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        metrics.begin_at_zero(metrics.HTTP, BUSIEST, ["POST"], (200, 500, 503))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started_at = CLIENT_GONE, perf_counter()
        metrics.IN_FLIGHT.inc()

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noting_status)
        finally:
            route = getattr(scope.get("route"), "path", NO_ROUTE)
            method = scope["method"] if scope["method"] in METHODS else OTHER_METHOD
            metrics.IN_FLIGHT.dec()
            metrics.HTTP.labels(route, method, status).inc()
            duration_s = perf_counter() - started_at
            metrics.HTTP_SECONDS.labels(route).observe(duration_s)
            level = logging.WARNING if status >= 500 and route not in PROBES else logging.INFO
            if log.isEnabledFor(level):
                caller = scope.get("state", {}).get("caller")
                fields = {
                    "method": scope["method"],
                    "route": route,
                    "status": status,
                    "ms": round(1e3 * duration_s, 1),
                    "caller": caller.name if caller else "",
                }
                # The template stands for the path, which may hold private data.
                log.log(level, "%s %s %d", scope["method"], route, status, extra=fields)
