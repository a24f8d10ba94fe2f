"""Passes on what else an upstream has under /v1: completions, embeddings, and paths that Errata does not have.

A body in JSON names the upstream by its model; any other request by the header `x-errata-upstream`.
"""

# `from __future__ import annotations` is left out: FastAPI cannot resolve the annotations of a callable object.
from http import HTTPStatus
from time import perf_counter
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from service.errors import TooLarge, UnsupportedMediaType
from service.http.auth import Guard
from service.http.body import FEW_FIELDS, JsonBody, read_body
from service.http.openai.passed_reply import MARK
from service.http.openai.requests import ChatRequest
from service.http.openai.upstream_request import (
    UpstreamRequest,
    UpstreamRequests,
    answer_upstream_request,
    check_caller,
)

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
UPSTREAM = f"{MARK}upstream"
ANY_PATH = "/v1/{path:path}"


async def find_upstream_request(request: Request) -> UpstreamRequest:
    """Read a request for an upstream; HTTPException for any other: 405 if its path is ours with another method."""
    upstream_requests: UpstreamRequests = request.app.state.upstream_requests
    bounds = upstream_requests.find_bounds(request, FEW_FIELDS)
    if upstream := upstream_requests.upstreams.get(request.headers.get(UPSTREAM, "")):
        await check_caller(request.state.account, upstream)
        too_large = TooLarge(f"the body may have {bounds.bytes:,} bytes", limit=bounds.bytes)
        data = await read_body(request, too_large, bounds.bytes)
        return UpstreamRequest(request, upstream, None, {}, data, perf_counter())
    upstream_request = None
    if request.method not in ("GET", "HEAD", "OPTIONS"):
        try:
            data, _ = await JsonBody(ChatRequest, bounds).read(request, bounds)
            upstream_request = await upstream_requests.find(request, data)
        except UnsupportedMediaType:  # it names no upstream
            upstream_request = None
    if upstream_request is None:
        is_own = any(route.matches(request.scope)[0] is Match.PARTIAL for route in request.app.routes)
        raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED if is_own else HTTPStatus.NOT_FOUND)
    return upstream_request


async def pass_on(
    upstream_request: Annotated[UpstreamRequest, Depends(find_upstream_request)],
) -> Response:
    """Pass a request on to the upstream that it names."""
    return await answer_upstream_request(upstream_request)


def add_route(app: FastAPI, guard: Guard) -> None:
    """Add the route of all paths that no other route has; it comes last, and its path tells it from the others."""
    guards = [Depends(guard)]
    app.add_api_route(ANY_PATH, pass_on, methods=METHODS, include_in_schema=False, dependencies=guards)
