"""Keeps clients from setting Ray Serve's limits, and Ray's own request id out of the answer.

Ray lets any client set or switch off the server's time limits by a header, whereas our routes set theirs. It adds an
X-Request-ID beside ours. It lets uvicorn use its own protocol, which bounds neither heads nor connections, as ours
does. Ray calls `build` (RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH) wherever it listens for HTTP, before it starts
uvicorn: in its proxies, where nothing else of an application runs, and in an ingress that listens itself.
"""

from __future__ import annotations

import logging
import os

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import HTTP_PROTOCOLS, Config

PROTOCOL = "service.http.protocol:BoundedProtocol"
LIMITS = frozenset({b"x-request-timeout-seconds", b"x-request-disconnect-disabled"})
REQUEST_ID = b"x-request-id"
CALLBACK, CALLBACK_VALUE = "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH", f"{__name__}:build"

log = logging.getLogger(__name__)


class RayHeadersMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_one_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                ids = [header for header in headers if header[0].lower() == REQUEST_ID]
                message["headers"] = [header for header in headers if header not in ids] + ids[:1]
            await send(message)

        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in LIMITS]
        await self._app({**scope, "headers": headers}, receive, send_one_id)


def build() -> list[Middleware]:
    """Return the middlewares outside all of Ray's, and make uvicorn use our protocol; raises RuntimeError."""
    HTTP_PROTOCOLS["auto"] = PROTOCOL
    config = Config(RayHeadersMiddleware, log_config=None)
    config.load()
    if getattr(config.http_protocol_class, "__name__", "") != PROTOCOL.partition(":")[2]:
        raise RuntimeError("uvicorn does not take our protocol: install the version of pyproject.toml")
    return [Middleware(RayHeadersMiddleware)]


def check() -> bool:
    """Make uvicorn use our protocol in this process; return False, and log an error, if Ray's proxies do not."""
    build()
    is_told = os.environ.get(CALLBACK) == CALLBACK_VALUE
    if not is_told:
        log.error("Ray's proxies bound no heads: start Ray with %s=%s", CALLBACK, CALLBACK_VALUE)
    return is_told
