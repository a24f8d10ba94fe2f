"""`errata mcp`: the tools over stdio, for a program that starts it, on the routes of a service elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping

from errata.client import AsyncErrata
from errata.errors import ErrataError
from errata.mcp.tools import INSTRUCTIONS, JSON, Tools, ToolServer, add_resources, list_tools
from errata.request import Call
from errata.transport import Retry
from errata.wire import Request, Response

SLOWEST_S = 600.0  # time limit of a call; a proposal is measured first


class Body(Request, extra="allow"):
    """Any body; the service checks it."""


class RemoteRoutes:
    """The routes of a service at an address; the headers of every request have the key."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._client = AsyncErrata(url, timeout_s=SLOWEST_S, headers=headers, retry=Retry(times=0))

    async def get(self, path: str, query: Mapping[str, str | int] = {}) -> JSON:
        """Read a route."""
        return await self._send(Call("GET", path, Response, query=query))

    async def post(self, path: str, body: Mapping[str, object]) -> JSON:
        """Send a body to a route."""
        return await self._send(Call("POST", path, Response, Body.model_validate(body), reads=False))

    async def _send(self, call: Call[Response]) -> JSON:
        content: JSON = json.loads((await self._client.send(call)).raw)
        return content


def run(url: str, headers: Mapping[str, str]) -> None:
    """Serve the tools until the program that started them ends."""
    routes = RemoteRoutes(url, headers)
    tools = Tools(lambda: routes, ErrataError)
    server = ToolServer("errata", instructions=INSTRUCTIONS, tools=list_tools(tools))
    add_resources(server, tools)
    server.run("stdio")
