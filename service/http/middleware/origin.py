"""Refuses requests that a browser sends for a foreign page: other host names, and calls across sites.

If only this machine can connect, asking needs no key, and a page in a person's browser could ask, too: under a name
that resolves to 127.0.0.1 (DNS rebinding), or by sending a request whose answer it cannot read.
"""

from __future__ import annotations

from collections.abc import Set
from urllib.parse import urlsplit

from errata.wire.mistakes import shorten
from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import Forbidden
from service.http.errors import respond_error

OWN_SITES = ("same-origin", "none")  # `none`: the address was typed in, or is a bookmark
SAFE_METHODS = ("GET", "HEAD")


class OriginMiddleware:
    """Refuses requests to names other than `hosts` (empty allows any), and calls from foreign pages.

    Pages of the names `pages` and of the `origins` may call.
    """

    def __init__(
        self, app: ASGIApp, hosts: Set[str], pages: Set[str], origins: Set[str] = frozenset()
    ) -> None:
        self._app, self._hosts, self._pages, self._origins = app, hosts, pages, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._find_refusal(scope["method"], Headers(scope=scope))):
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
