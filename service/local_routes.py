"""Calls of the service's own JSON routes, in this process, with the key of a caller.

So pages of the console and tools of MCP may do what that key may do and nothing else: guards, limits, checks of bodies
and the audit are those of the routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from fastapi import Request
from starlette.types import ASGIApp

from service.curation.buffered_counter import BY_CURATOR
from service.errors import InvalidInput

JSON = dict[str, Any]


class RouteRefusal(Exception):
    """A route refused. `problem` is its problem document; `headers` tell when to try again, where it says so."""

    def __init__(self, status: int, problem: JSON, retry_after: str | None = None) -> None:
        super().__init__(problem.get("detail", ""))
        self.status, self.problem = status, problem
        self.headers = {} if retry_after is None else {"retry-after": retry_after}

    @property
    def code(self) -> str:
        return str(self.problem.get("code", ""))


class KeyNeeded(RouteRefusal):
    """The routes need a key, or another one."""


class LocalRoutes:
    """The routes as a caller sees them.

    Args:
        key: The caller's key; None for one without.
        client: The caller's address and port, which are those of the calls.
        host: The name under which the caller reached the service.
        by_curator: Whether questions are those of a curator, which are not counted.
    """

    def __init__(
        self, app: ASGIApp, key: str | None, client: tuple[str, int], host: str, by_curator: bool = False
    ) -> None:
        self._by_curator = by_curator
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=client)
        self._headers = {"host": host} | ({} if key is None else {"authorization": f"Bearer {key}"})

    @classmethod
    def of(cls, request: Request, key: str | None) -> LocalRoutes:
        """Return the routes as the curator who sent a request sees them."""
        client = (request.client.host, request.client.port) if request.client else ("127.0.0.1", 0)
        return cls(request.app, key, client, request.headers.get("host", ""), by_curator=True)

    async def get(self, path: str, query: Mapping[str, str | int] = {}) -> JSON:
        """Read a route; parameters without a value are left out."""
        return await self.call(
            "GET", path, params={name: value for name, value in query.items() if value != ""}
        )

    async def post(self, path: str, body: Mapping[str, object], key: str | None = None) -> JSON:
        headers = {} if key is None else {"idempotency-key": key}
        return await self.call("POST", path, json=body, headers=headers)

    async def delete(self, path: str) -> JSON:
        return await self.call("DELETE", path)

    async def call(self, method: str, path: str, headers: Mapping[str, str] = {}, **content: Any) -> JSON:
        """Call a route.

        Raises:
            KeyNeeded: It needs a key, or another one.
            RouteRefusal: It refused for another reason.
        """
        before = BY_CURATOR.set(self._by_curator)
        try:
            async with httpx.AsyncClient(
                transport=self._transport, base_url="http://local", timeout=None
            ) as client:
                values = {**self._headers, **headers}.items()
                encoded = {name.encode(): value.encode(errors="replace") for name, value in values}
                response = await client.request(method, path, headers=encoded, **content)
        except (httpx.InvalidURL, UnicodeEncodeError) as error:  # a long address, or half a character
            problem = {"code": InvalidInput.code, "detail": f"this cannot be sent on: {error}"}
            raise RouteRefusal(InvalidInput.status, problem) from error
        finally:
            BY_CURATOR.reset(before)
        body: JSON = response.json()
        if response.status_code == httpx.codes.UNAUTHORIZED:
            raise KeyNeeded(response.status_code, body)
        if response.is_error:
            raise RouteRefusal(response.status_code, body, response.headers.get("retry-after"))
        return body
