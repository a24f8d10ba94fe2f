"""Streamable HTTP at /mcp, by the SDK of the protocol, in the process of the ingress.

A caller's key or token is verified by the routes themselves, and each tool calls them with it, so its scopes, limits
and audit are those of every other call.
"""

from __future__ import annotations

import asyncio
import re
from contextvars import Context, ContextVar

from errata.mcp.tools import INSTRUCTIONS, Tools, ToolServer, add_resources, list_tools
from fastapi import FastAPI
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import cors_middleware
from mcp.server.auth.settings import AuthSettings
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.local_routes import KeyNeeded, LocalRoutes, RouteRefusal

PATH = "/mcp"
METADATA = f"/.well-known/oauth-protected-resource{PATH}"  # RFC 9728
MAX_BODY = 1_000_000  # bytes of a request, as of a question
REFUSALS = {  # statuses with codes of JSON-RPC, and sentences that a client of the protocol shows
    401: (-32001, "a key or token that is valid here is needed, as the header Authorization: Bearer KEY"),
    413: (-32600, f"a request may have {MAX_BODY:,} bytes: send less at once"),
}
SERVER_ERROR = -32000
HOST = re.compile(r"([\w.-]+|\[[0-9a-f:.]+\])(:\d+)?", re.ASCII | re.IGNORECASE)

CALLER: ContextVar[tuple[tuple[str, int], str]] = ContextVar("address and host of the caller")
REFUSAL: ContextVar[RouteRefusal | None] = ContextVar("why the key of a request was not checked")


class RouteVerifier:
    """Verifies keys and tokens by the route that tells a caller who it is."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            caller = await routes_of(self._app, token).get("/admin/keys/self")
        except KeyNeeded:
            return None
        except RouteRefusal as refusal:  # the caller calls too often, or the key cannot be looked up
            REFUSAL.set(refusal)
            return None
        return AccessToken(token=token, client_id=caller["name"], scopes=caller["scopes"])


class Endpoint:
    """Notes who calls, before the protocol's own application answers; its sessions begin with the first call.

    Args:
        sessions: Its sessions, which one task has to open and close.
        url: The address of the service by its settings, which the application names.
    """

    def __init__(self, app: ASGIApp, sessions: StreamableHTTPSessionManager, url: str) -> None:
        self._app, self._sessions, self._url = app, sessions, url
        self._task: asyncio.Task[None] | None = None
        self._is_open, self._is_closing = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._task is None:
            # The task belongs to no request: without a new context it would keep the first caller's key.
            self._task = asyncio.create_task(self._hold(), context=Context())
        await self._is_open.wait()
        if self._task.done():
            await self._task  # the sessions could not begin: raise why
        client = scope.get("client") or ("127.0.0.1", 0)
        CALLER.set((tuple(client), Headers(scope=scope).get("host", "")))
        REFUSAL.set(None)
        is_refused = False

        async def explain(message: Message) -> None:
            """Send a refusal with a sentence for clients, and with an address by which they reach this service."""
            nonlocal is_refused
            refusal = REFUSAL.get()
            if message["type"] == "http.response.start" and refusal is not None:
                is_refused = True
                body = make_error(SERVER_ERROR, str(refusal))
                await JSONResponse(body, refusal.status, refusal.headers)(scope, receive, send)
            elif message["type"] == "http.response.start" and message["status"] in REFUSALS:
                is_refused = True
                body = make_error(*REFUSALS[message["status"]])
                challenge = Headers(raw=message["headers"]).get("www-authenticate")
                address = find_address(scope, self._url)
                headers = challenge and {"www-authenticate": challenge.replace(self._url, address)}
                await JSONResponse(body, message["status"], headers or None)(scope, receive, send)
            elif not is_refused:
                await send(message)

        await self._app(scope, receive, explain)

    async def aclose(self) -> None:
        self._is_closing.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _hold(self) -> None:
        try:
            async with self._sessions.run():
                self._is_open.set()
                await self._is_closing.wait()
        finally:
            self._is_open.set()  # calls do not wait for sessions that cannot begin


def include_mcp(app: FastAPI, url: str, issuer: str | None) -> None:
    """Serve the tools at /mcp. `issuer`: the issuer of tokens that are accepted; None where there are only keys."""
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(issuer or url),
        resource_server_url=AnyHttpUrl(url + PATH),
        validate_token_resource=False,  # the routes check the audience
    )
    tools = Tools(lambda: routes_of(app, getattr(get_access_token(), "token", None)), RouteRefusal)
    server = ToolServer(
        "errata",
        instructions=INSTRUCTIONS,
        tools=list_tools(tools),
        token_verifier=RouteVerifier(app),
        auth=auth,
    )
    add_resources(server, tools)
    protocol = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY,
        # Names of hosts and foreign pages are refused before, by the service's own middleware.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    endpoint = Endpoint(protocol, server.session_manager, url)

    async def describe(request: Request) -> Response:
        address = find_address(request.scope, url)
        metadata = ProtectedResourceMetadata(
            resource=AnyHttpUrl(address + PATH), authorization_servers=[AnyHttpUrl(issuer or address)]
        )
        return JSONResponse(metadata.model_dump(mode="json", exclude_none=True))

    app.router.routes += [
        Route(PATH, endpoint),
        Route(METADATA, cors_middleware(describe, ["GET", "OPTIONS"])),
    ]
    app.router.on_shutdown.append(endpoint.aclose)


def make_error(code: int, sentence: str) -> dict[str, object]:
    """Return an error of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": sentence}}


def find_address(scope: Scope, url: str) -> str:
    """Return the address under which a client reached the service, whose own may be 0.0.0.0; `url` where none is given.

    Names that the service has not are refused before, where it knows its names.
    """
    host = Headers(scope=scope).get("host", "")
    scheme = "https" if url.startswith("https:") else scope["scheme"]
    return f"{scheme}://{host}" if HOST.fullmatch(host) else url


def routes_of(app: FastAPI, key: str | None) -> LocalRoutes:
    """Return the routes as the caller of the present request sees them."""
    client, host = CALLER.get()
    return LocalRoutes(app, key, client, host)
