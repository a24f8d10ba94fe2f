"""Long pages are compressed for those who accept that: lists, the API's description, the console.

Answers are short, and streams and backups have to flow, so they are sent as they are.
"""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

LEAST_BYTES = 4_096  # bytes from which compression is worth its time
LEVEL = 5
STREAMS = ("/admin/export", "/metrics")


class CompressionMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._plain, self._gzip = app, GZipMiddleware(app, LEAST_BYTES, LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"] not in STREAMS
        await (self._gzip if is_page else self._plain)(scope, receive, send)
