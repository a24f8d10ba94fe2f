"""Compresses responses, but no streams."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from service.http.middleware.passing import is_for_upstream

LEAST_BYTES = 4_096  # bytes from which compression is worth its time
LEVEL = 5
NO_GZIP = re.compile(
    r"gzip\s*;\s*q=0(\.0*)?\s*(,|$)", re.IGNORECASE
)  # a weight of 0 refuses: RFC 9110, 12.4.2
STREAMS = ("/admin/export", "/metrics")


class CompressionMiddleware:
    """Compresses long pages for those who accept that. Answers are short, and streams and backups have to flow."""

    def __init__(self, app: ASGIApp) -> None:
        self._plain, self._gzip = app, GZipMiddleware(app, LEAST_BYTES, LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and scope["path"] not in STREAMS
            and not is_for_upstream(scope)
        )
        if is_page and NO_GZIP.search(Headers(scope=scope).get("accept-encoding", "")):
            headers = [header for header in scope["headers"] if header[0] != b"accept-encoding"]
            scope = {**scope, "headers": headers}
        await (self._gzip if is_page else self._plain)(scope, receive, send)
