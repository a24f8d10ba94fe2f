"""Any change that Ray makes to a request and its answer around the service is undone at the outermost edge."""

import httpx
import pytest
from ray.serve._private.http_util import (
    RequestIdMiddleware,
    parse_disconnect_disabled_header,
    parse_request_timeout_header,
)
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import HTTP_PROTOCOLS, Config

from service.http.middleware.ray_headers import build
from service.http.protocol import BoundedProtocol

SERVICE_ID = "an-id-of-ours"


@pytest.fixture(autouse=True)
def protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the protocols of the other tests."""
    monkeypatch.setitem(HTTP_PROTOCOLS, "auto", HTTP_PROTOCOLS["auto"])


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that returns the headers that Ray reads, and gives its answer an id."""
    request = Request(scope)
    headers = dict(scope["headers"])
    limits = [parse_request_timeout_header(headers, 60.0), parse_disconnect_disabled_header(headers)]
    reply = JSONResponse(
        {"limits": limits, "accept": request.headers["accept"]}, headers={"x-request-id": SERVICE_ID}
    )
    await reply(scope, receive, send)


def as_ray_listens(app: ASGIApp) -> httpx.AsyncClient:
    [middleware] = build()
    edge = middleware.cls(RequestIdMiddleware(app), *middleware.args, **middleware.kwargs)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=edge), base_url="http://errata")


@pytest.mark.parametrize("limit", ["0.000001", "0", "-1"])
async def test_a_client_sets_no_limit_of_rays(limit: str) -> None:
    headers = {
        "X-Request-Timeout-Seconds": limit,
        "X-Request-Disconnect-Disabled": "?1",
        "Accept": "text/plain",
    }
    async with as_ray_listens(application) as http:
        reply = await http.get("/", headers=headers)
    assert reply.json() == {"limits": [60.0, False], "accept": "text/plain"}


@pytest.mark.parametrize("request_headers", [{}, {"x-request-id": "the senders"}])
async def test_an_answer_has_one_id_and_it_is_ours(request_headers: dict[str, str]) -> None:
    async with as_ray_listens(application) as http:
        reply = await http.get("/", headers=request_headers)
    assert reply.headers.get_list("x-request-id") == [SERVICE_ID]


def test_where_ray_listens_heads_and_connections_are_bounded() -> None:
    build()
    config = Config(application, log_config=None)
    config.load()
    assert config.http_protocol_class is BoundedProtocol
