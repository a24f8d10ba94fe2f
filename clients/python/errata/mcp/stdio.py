"""`errata mcp`: the tools over stdio, for a program that starts it, on the routes of a service elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from errata.address import is_loopback
from errata.mcp.tools import INSTRUCTIONS, JSON, Tools, ToolServer, add_tools

SLOWEST_S = 600.0  # time limit of a call; a proposal is measured first


class Refusal(Exception):
    """A route refused, or the service cannot be reached."""


class RemoteRoutes:
    """The routes of a service at an address, with a key."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        trust_env = not is_loopback(httpx.URL(url))
        self._client = httpx.AsyncClient(
            base_url=url, headers=dict(headers), timeout=SLOWEST_S, trust_env=trust_env
        )

    async def get(self, path: str, query: Mapping[str, str | int] = {}) -> JSON:
        """Read a route."""
        return await self._call("GET", path, params=dict(query))

    async def post(self, path: str, body: Mapping[str, object]) -> JSON:
        """Send a body to a route."""
        return await self._call("POST", path, json=dict(body))

    async def _call(self, method: str, path: str, **content: Any) -> JSON:
        try:
            response = await self._client.request(method, path, **content)
            body: JSON = response.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Refusal(f"{self._client.base_url} cannot be reached, or is no Errata: {error}") from error
        if response.is_error:
            raise Refusal(body.get("detail", response.reason_phrase))
        return body


def run(url: str, headers: Mapping[str, str]) -> None:
    """Serve the tools until the program that started them ends."""
    routes = RemoteRoutes(url, headers)
    server = ToolServer("errata", instructions=INSTRUCTIONS)
    add_tools(server, Tools(lambda: routes, Refusal))
    server.run("stdio")
