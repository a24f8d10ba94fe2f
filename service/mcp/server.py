"""Streamable HTTP at /mcp, by the SDK of the protocol, in the process of the ingress.

A caller's key or token is verified by the routes themselves, and each tool calls them with it, so its scopes, limits
and audit are those of every other call.
"""

from __future__ import annotations

import asyncio
from contextvars import Context, ContextVar

from errata.mcp.tools import INSTRUCTIONS, Tools, add_tools
from fastapi import FastAPI
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from service.local_routes import KeyNeeded, LocalRoutes, RouteRefusal

PATH = "/mcp"
METADATA = f"/.well-known/oauth-protected-resource{PATH}"  # RFC 9728
MAX_BODY = 1_000_000  # bytes of a request, as of a question

CALLER: ContextVar[tuple[tuple[str, int], str]] = ContextVar("address and host of the caller")


class RouteVerifier:
    """Verifies keys and tokens by the route that tells a caller who it is.

    Args:
        app: Has the routes.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the caller of a key or token; None if it is not valid."""
        try:
            caller = await routes_of(self._app, token).get("/admin/keys/self")
        except KeyNeeded:
            return None
        return AccessToken(token=token, client_id=caller["name"], scopes=caller["scopes"])


class Endpoint:
    """Notes who calls, before the protocol's own application answers; its sessions begin with the first call.

    Args:
        app: The protocol's application.
        sessions: Its sessions, which one task has to open and close.
    """

    def __init__(self, app: ASGIApp, sessions: StreamableHTTPSessionManager) -> None:
        self._app, self._sessions = app, sessions
        self._task: asyncio.Task[None] | None = None
        self._is_open, self._is_closing = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._task is None:
            # The task belongs to no request: without a new context it would keep the first caller's key.
            self._task = asyncio.create_task(self._hold(), context=Context())
        await self._is_open.wait()
        client = scope.get("client") or ("127.0.0.1", 0)
        CALLER.set((tuple(client), Headers(scope=scope).get("host", "")))
        await self._app(scope, receive, send)

    async def aclose(self) -> None:
        """End the sessions."""
        self._is_closing.set()
        if self._task is not None:
            await self._task

    async def _hold(self) -> None:
        async with self._sessions.run():
            self._is_open.set()
            await self._is_closing.wait()


def include_mcp(app: FastAPI, url: str, issuer: str | None) -> None:
    """Serve the tools at /mcp.

    Args:
        app: The application, whose routes the tools call.
        url: Address of the service.
        issuer: The issuer of tokens that are accepted; None where there are only keys.
    """
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(issuer or url),
        resource_server_url=AnyHttpUrl(url + PATH),
        validate_token_resource=False,  # the routes check the audience
    )
    server = MCPServer("errata", instructions=INSTRUCTIONS, token_verifier=RouteVerifier(app), auth=auth)
    add_tools(server, Tools(lambda: routes_of(app, _caller_key()), RouteRefusal))
    protocol = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY,
        # Names of hosts and foreign pages are refused before, by the service's own middleware.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    endpoint = Endpoint(protocol, server.session_manager)
    app.router.routes += [Route(path, endpoint) for path in (PATH, METADATA)]
    app.router.on_shutdown.append(endpoint.aclose)


def routes_of(app: FastAPI, key: str | None) -> LocalRoutes:
    """Return the routes as the caller of the present request sees them."""
    client, host = CALLER.get()
    return LocalRoutes(app, key, client, host)


def _caller_key() -> str | None:
    token = get_access_token()
    return None if token is None else token.token
