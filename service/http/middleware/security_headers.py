"""Headers that tell a browser to trust nothing by default: this is an API, and only /docs and the console are pages."""

from __future__ import annotations

import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

API_POLICY = "default-src 'none'; frame-ancestors 'none'"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"
)
CONSOLE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
PAGES = {"/docs": PAGE_POLICY, "/static-offline-docs/": PAGE_POLICY, "/console": CONSOLE_POLICY}
CACHEABLE = ("/docs", "/static-offline-docs/", "/console/static/")  # the same for every reader
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
HSTS = "max-age=31536000"
HOST = re.compile(r"\A[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)


class SecurityHeadersMiddleware:
    """Adds the headers to every answer; without `tls`, the proxy that speaks TLS adds the header about it."""

    def __init__(self, app: ASGIApp, tls: bool) -> None:
        self._app = app
        self._headers = HEADERS | ({"strict-transport-security": HSTS} if tls else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        policy = next((policy for prefix, policy in PAGES.items() if path.startswith(prefix)), API_POLICY)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                headers["content-security-policy"] = policy
                if not path.startswith(CACHEABLE):
                    headers.setdefault("cache-control", "no-store")
                if location := headers.get("location"):
                    headers["location"] = strip_host(location)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def strip_host(location: str) -> str:
    """Remove the host of a redirect, which Starlette takes from the request's Host and its sender may choose."""
    return "/" + HOST.sub("", location, count=1).lstrip("/")
