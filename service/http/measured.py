"""Counts and times every request, once, at the edge. Labels are the routes' templates, so there are few."""

from __future__ import annotations

from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service import metrics

UNROUTED = "none"


class Measured:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 499, perf_counter()  # 499: gone before there was an answer

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            route = getattr(scope.get("route"), "path", UNROUTED)
            metrics.HTTP.labels(route, scope["method"], status).inc()
            metrics.HTTP_SECONDS.labels(route).observe(perf_counter() - started)
