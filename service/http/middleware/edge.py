"""Steps of every request but its audit: an id, figures, headers for browsers, refusal of foreign pages, HEAD.

The figures count, time and log a request once, by its route's template, so that there are few labels. A page in a
person's browser is refused where it calls under a foreign name (one that resolves to 127.0.0.1, by DNS rebinding), or
from another site, for it could ask without a key and need not read the answer. Headers tell a browser to trust nothing
by default: this is an API, and only /docs and the console are pages.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Set
from time import perf_counter
from urllib.parse import urlsplit
from uuid import uuid4

from errata.wire.mistakes import shorten
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.audit.calls import CLIENT_GONE
from service.errors import Forbidden
from service.http.failures import respond_error
from service.http.middleware.passing import is_for_upstream
from service.logs import request_id
from service.metrics import metrics
from service.tracing import set_attributes

log = logging.getLogger(__name__)

NO_ROUTE, OTHER_METHOD = "none", "other"
PROBES = frozenset({"/healthz", "/readyz"})  # routes asked every second; a 503 is no failure
BUSIEST = ("/v1/answers", "/admin/edits")
METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
)  # clients invent further ones
OWN_SITES = ("same-origin", "none")  # `none`: the address was typed in, or is a bookmark
SAFE_METHODS = ("GET", "HEAD")
ID_HEADER = "x-request-id"
USABLE_ID = re.compile(r"[\w.:@+/=-]{1,128}")
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


def watch_start(send: Send, look: Callable[[Message], None]) -> Send:
    """Return a `send` that shows `look` the start of the answer, which it may change."""

    async def send_after_look(message: Message) -> None:
        if message["type"] == "http.response.start":
            look(message)
        await send(message)

    return send_after_look


class HttpMiddleware:
    """The base of those that leave anything but HTTP alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._handle if scope["type"] == "http" else self._app)(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise NotImplementedError


class HeadMiddleware(HttpMiddleware):
    """Answers HEAD by the route of GET. Add it as the innermost, so that the others see the caller's method."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "HEAD" or is_for_upstream(scope):
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, send_without_body)


class MetricsMiddleware(HttpMiddleware):
    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        metrics.begin_at_zero(metrics.HTTP, BUSIEST, ["POST"], (200, 500, 503))

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, started_at = CLIENT_GONE, perf_counter()
        metrics.IN_FLIGHT.inc()

        def note_status(message: Message) -> None:
            nonlocal status
            status = message["status"]

        try:
            await self._app(scope, receive, watch_start(send, note_status))
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


class OriginMiddleware(HttpMiddleware):
    """Refuses requests to names other than `hosts` (empty allows any), and calls from foreign pages.

    Pages of the names `pages` and of the `origins` may call.
    """

    def __init__(
        self, app: ASGIApp, hosts: Set[str], pages: Set[str], origins: Set[str] = frozenset()
    ) -> None:
        super().__init__(app)
        self._hosts, self._pages, self._origins = hosts, pages, origins

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if refusal := self._find_refusal(scope["method"], Headers(scope=scope)):
            await respond_error(Request(scope), Forbidden(refusal))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _find_refusal(self, method: str, headers: Headers) -> str | None:
        host = headers.get("host", "").lower()  # every browser sends it
        name = _read_name(host)
        if host and self._hosts and name not in self._hosts:
            names = ", ".join(sorted(self._hosts))
            return f"this service is called {names}, not {shorten(name)!r}: if it is, start it with --allowed-host"
        if self._is_foreign(method, headers, host):
            return (
                "a page of another site may not call this service: call it from a program, or from its own pages, or "
                "start it with --allow-origin"
            )
        return None

    def _is_foreign(self, method: str, headers: Headers, host: str) -> bool:
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        place = (origin or "").partition("://")[2].lower()
        if origin is not None and (origin.lower() in self._origins or _read_name(place) in self._pages):
            return False
        if site is None:  # an old browser, or another program
            return origin is not None and place != host
        target = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
        is_link = method in SAFE_METHODS and target == ("navigate", "document")  # its reader sees the answer
        return site not in OWN_SITES and not is_link


def _read_name(place: str) -> str:
    """Return the name in `name:port`; empty if it is neither a name nor an address."""
    try:
        return urlsplit(f"//{place}").hostname or ""
    except ValueError:
        return ""


class RequestIdMiddleware(HttpMiddleware):
    """Gives every request an id that its answer, the logs and the audit name; a sender may choose it."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        sender_id = Headers(scope=scope).get(ID_HEADER, "")
        id = sender_id if USABLE_ID.fullmatch(sender_id) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = id
        token = request_id.set(id)
        set_attributes(**{"errata.request": id})

        def add_id(message: Message) -> None:
            MutableHeaders(scope=message).setdefault(ID_HEADER, id)

        try:
            await self._app(scope, receive, watch_start(send, add_id))
        finally:
            request_id.reset(token)


class SecurityHeadersMiddleware(HttpMiddleware):
    """Adds the headers to every answer; without `tls`, the proxy that speaks TLS adds the header about it."""

    def __init__(self, app: ASGIApp, tls: bool) -> None:
        super().__init__(app)
        self._headers = HEADERS | ({"strict-transport-security": HSTS} if tls else {})

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        policy = next((policy for prefix, policy in PAGES.items() if path.startswith(prefix)), API_POLICY)

        def add_headers(message: Message) -> None:
            headers = MutableHeaders(scope=message)
            headers.update(self._headers)
            headers["content-security-policy"] = policy
            if not path.startswith(CACHEABLE):
                headers.setdefault("cache-control", "no-store")
            if (location := headers.get("location")) and "x-errata-upstream" not in headers:
                headers["location"] = strip_host(location)

        await self._app(scope, receive, watch_start(send, add_headers))


def strip_host(location: str) -> str:
    """Remove the host of a redirect, which Starlette takes from the request's Host and its sender may choose."""
    return "/" + HOST.sub("", location, count=1).lstrip("/")
