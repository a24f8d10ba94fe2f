"""Calls of the service's own JSON routes, in this process, with the key of the reader of a page.

So a page may do what its key may do and nothing else: guards, limits, checks of bodies and the audit are those of the
routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from fastapi import Request

JSON = dict[str, Any]


class ApiRefusal(Exception):
    """A route refused. `problem` is its problem document."""

    def __init__(self, status: int, problem: JSON) -> None:
        super().__init__(problem.get("detail", ""))
        self.status, self.problem = status, problem

    @property
    def code(self) -> str:
        """Return the stable code of the problem."""
        return str(self.problem.get("code", ""))


class SignInNeeded(ApiRefusal):
    """The routes need a key, or another one."""


class Api:
    """The routes as the sender of a request sees them.

    Args:
        request: The request of a page; its address, its host and its id are those of the calls.
        key: The key of its sender; None for a sender without one.
    """

    def __init__(self, request: Request, key: str | None) -> None:
        client = (request.client.host, request.client.port) if request.client else ("127.0.0.1", 0)
        self._transport = httpx.ASGITransport(request.app, raise_app_exceptions=False, client=client)
        self._headers = {"host": request.headers.get("host", "")}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"

    async def get(self, path: str, query: Mapping[str, str | int] = {}) -> JSON:
        """Read a route; parameters without a value are left out."""
        return await self._call(
            "GET", path, params={name: value for name, value in query.items() if value != ""}
        )

    async def post(self, path: str, body: Mapping[str, object], key: str | None = None) -> JSON:
        """Send a body to a route, with an idempotency key."""
        headers = {} if key is None else {"idempotency-key": key}
        return await self._call("POST", path, json=body, headers=headers)

    async def delete(self, path: str) -> JSON:
        """Delete a thing by its route."""
        return await self._call("DELETE", path)

    async def _call(self, method: str, path: str, headers: Mapping[str, str] = {}, **content: Any) -> JSON:
        """Call a route.

        Raises:
            SignInNeeded: It needs a key, or another one.
            ApiRefusal: It refused for another reason.
        """
        async with httpx.AsyncClient(
            transport=self._transport, base_url="http://console", timeout=None
        ) as client:
            response = await client.request(method, path, headers={**self._headers, **headers}, **content)
        body: JSON = response.json()
        if response.status_code == httpx.codes.UNAUTHORIZED:
            raise SignInNeeded(response.status_code, body)
        if response.is_error:
            raise ApiRefusal(response.status_code, body)
        return body
