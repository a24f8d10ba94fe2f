"""A request for a model of an upstream, `UPSTREAM/MODEL`, told from those for our own models on the same paths.

A body is read before it is known whose it is: within the bounds of ours, unless the caller may use upstreams.
"""

# `from __future__ import annotations` is left out: FastAPI cannot resolve the annotations of a callable object.
import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, TypeVar
from urllib.parse import unquote

from errata.wire import Request as WireRequest
from fastapi import Request, Response

from service.access.caller import ANONYMOUS
from service.errors import InvalidInput, Unauthorized
from service.http.auth import Account
from service.http.body import INLINE_BYTES, Bounds, JsonBody
from service.upstream.members import ENCODING, read_members, replace_value
from service.upstream.question import FORMATS, LIMITS, AskedQuestion, find_question
from service.upstream.turn import restore_turn
from service.upstream.upstream import SEPARATOR, Upstream

PASSING = Bounds(20_000_000, 100_000)  # images are the largest part
# Fields that an answer reads; the others are dropped when the question is found
ANSWER_FIELDS = ("model", "stream", "n", "max_output_tokens", "previous_response_id", *LIMITS, *FORMATS)
ROOT = "/v1/"

Kind = TypeVar("Kind", bound=WireRequest)


@dataclass(frozen=True)
class UpstreamRequest:
    """A request for an upstream's model."""

    request: Request
    upstream: Upstream
    question: AskedQuestion | None  # what an edit may answer
    fields: Mapping[str, Any]  # members of the body that an answer reads; empty where it is no JSON
    body: bytes  # the body as the upstream gets it
    began_at: float  # when the caller's body was there, by `perf_counter`

    @property
    def path(self) -> str:
        """The path under /v1."""
        return self.request.url.path.removeprefix(ROOT)

    @property
    def target(self) -> str:
        """The path under /v1 and the query, as the caller wrote them; InvalidInput if they lead out of /v1."""
        path = self.request.scope["raw_path"].decode("latin-1").removeprefix(ROOT)
        segments = re.split(r"/|%2[fF]|\\|%5[cC]", path)
        if "" in segments[:-1] or any(unquote(segment) in (".", "..") for segment in segments):
            raise InvalidInput(
                "a path to an upstream may have neither the segments . and .. nor an empty one"
            )
        query = self.request.url.query
        return f"{path}?{query}" if query else path


async def check_caller(account: Account, upstream: Upstream) -> None:
    """Raise Unauthorized for a caller without a key, though asking our own models may need none."""
    if upstream.is_open:
        return
    if account.caller is ANONYMOUS:
        detail = f"the upstream {upstream.name!r} needs a key, for its calls cost money"
        raise Unauthorized(f"{detail}: send the header `Authorization: Bearer KEY`")
    caller = await account.gate.authenticator.authenticate(account.authorization)
    caller.check("ask")


@dataclass(frozen=True)
class UpstreamRequests:
    """Finds the requests for upstreams; `respond` answers them."""

    upstreams: Mapping[str, Upstream]
    respond: Callable[[UpstreamRequest], Awaitable[Response]]

    def find_bounds(self, request: Request, usual: Bounds) -> Bounds:
        """Return the bounds of a body: large ones for a caller who may use upstreams."""
        account: Account = request.state.account
        is_open = any(upstream.is_open for upstream in self.upstreams.values())
        return usual if account.caller is ANONYMOUS and not is_open else PASSING

    async def find(self, request: Request, data: bytes) -> UpstreamRequest | None:
        """Return the request if its body names an upstream's model."""
        began_at, path = perf_counter(), request.url.path.removeprefix(ROOT)
        read = partial(self.read_content, path, data)
        content = read() if len(data) <= INLINE_BYTES else await asyncio.to_thread(read)
        if content is None:
            return None
        await check_caller(request.state.account, content[0])
        return UpstreamRequest(request, *content, began_at)

    def read_content(
        self, path: str, data: bytes
    ) -> tuple[Upstream, AskedQuestion | None, Mapping[str, Any], bytes] | None:
        """Return the upstream, the question, the fields and the body for the upstream; None if it names none."""
        text = data.decode(*ENCODING)
        try:
            members = read_members(text)
            if (restored := restore_turn(text, members)) is not text:
                text, members = restored, read_members(restored)
        except ValueError:  # the routes of our own models refuse it
            return None
        models = [member for member in members if member.name == "model"]
        names = [
            str(member.value).partition(SEPARATOR)[0] for member in models if SEPARATOR in str(member.value)
        ]
        upstream = next((self.upstreams[name] for name in names if name in self.upstreams), None)
        if upstream is None:
            return None
        if len(models) > 1:
            raise InvalidInput("the body names `model` more than once: send it once")
        [model] = models
        fields = {member.name: member.value for member in members}
        question = find_question(path, fields, upstream.keep_out)
        body = replace_value(text, model, model.value.removeprefix(upstream.name + SEPARATOR))
        return upstream, question, {name: fields[name] for name in ANSWER_FIELDS if name in fields}, body


@dataclass(frozen=True)
class SharedBody(JsonBody[Kind]):
    """Reads a body as `kind`, or as a request for an upstream if it names an upstream's model."""

    async def __call__(self, request: Request) -> Kind | UpstreamRequest:  # type: ignore[override]
        upstream_requests: UpstreamRequests | None = getattr(request.app.state, "upstream_requests", None)
        if upstream_requests is None:
            return await super().__call__(request)
        data, n_parts = await self.read(request, upstream_requests.find_bounds(request, self.bounds))
        return await upstream_requests.find(request, data) or await self.parse(data, n_parts)


async def answer_upstream_request(request: UpstreamRequest) -> Response:
    """Respond to a request for an upstream on a route that our own models have, too."""
    upstream_requests: UpstreamRequests = request.request.app.state.upstream_requests
    return await upstream_requests.respond(request)
