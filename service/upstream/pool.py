"""The connections to all upstreams: one request becomes one request, and what comes back is passed on as it comes.

No proxy of the environment is used, no redirect is followed, no cookie is kept and nothing is sent again.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from math import ceil

import httpx

from service.errors import InvalidInput, NotReady, TooMany, UpstreamFailed, UpstreamSlow
from service.upstream.breaker import Breaker
from service.upstream.headers import Headers, to_send
from service.upstream.upstream import Upstream

CONNECT_S, WRITE_S, POOL_S = 5.0, 60.0, 1.0
IDLE_S = 300.0  # longest silence before the reply and between two of its parts
OWN_IDLE_S = 20.0  # likewise for our own requests, below the time that their callers wait
KEPT_S = 4.0  # below the time after which servers close a silent connection, mostly 5 s
MAX_BYTES = 1_000_000  # bytes that are read of a reply to our own request
OF_JSON = [(b"accept", b"application/json"), (b"content-type", b"application/json")]
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # bytes that no value of a header has
MAX_CONNECTIONS, MAX_KEPT = 1_024, 128
LIMITS = httpx.Limits(
    max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_KEPT, keepalive_expiry=KEPT_S
)


@dataclass(frozen=True)
class UpstreamReply:
    """The head of a reply, and its body as it comes. `body` raises UpstreamFailed where it is cut."""

    status: int
    headers: Headers
    body: AsyncIterator[bytes]


class Pool:
    """Sends requests. `on_state` receives the name of an upstream and whether it is refused from now on."""

    def __init__(self, upstreams: Mapping[str, Upstream], on_state: Callable[[str, bool], None]) -> None:
        self._transport = httpx.AsyncHTTPTransport(trust_env=False, limits=LIMITS, retries=0)
        self._timeout = httpx.Timeout(connect=CONNECT_S, read=IDLE_S, write=WRITE_S, pool=POOL_S).as_dict()
        self._breakers, self._on_state = {name: Breaker() for name in upstreams}, on_state
        for name in upstreams:  # a figure that is there from the start can be watched
            on_state(name, False)

    def list_failing(self) -> list[str]:
        """Return the names of the upstreams that failed again and again."""
        return [name for name, breaker in self._breakers.items() if breaker.is_open]

    @asynccontextmanager
    async def send(
        self,
        upstream: Upstream,
        method: str,
        target: str,
        headers: Headers,
        body: bytes,
        idle_s: float | None = None,
    ) -> AsyncIterator[UpstreamReply]:
        """Send one request; its connection is closed at the end of the block, unless the reply was read to its end.

        Args:
            target: Path and query under the upstream's address.
            idle_s: Longest silence before the reply and between two of its parts; None for IDLE_S.

        Raises:
            NotReady: It failed so often that it is not asked for a while.
            UpstreamFailed: It cannot be reached, or sends no HTTP.
            UpstreamSlow: It was silent for too long.
        """
        breaker = self._breakers[upstream.name]
        if (pause_s := breaker.find_pause()) is not None:
            detail = (
                f"the upstream {upstream.name!r} failed {breaker.n_failures} times: edits answer meanwhile"
            )
            raise NotReady(detail, retry_after_s=ceil(pause_s))
        request = httpx.Request(
            method,
            f"{upstream.url}/{target}",
            headers=headers,
            content=body,
            extensions={"timeout": self._timeout | {"read": idle_s or IDLE_S}},
        )
        try:
            with _translate(upstream.name, idle_s or IDLE_S):
                response = await self._transport.handle_async_request(request)
            if not 200 <= response.status_code < 600 or any(
                CONTROL.search(value) for _, value in response.headers.raw
            ):
                await response.aclose()
                raise UpstreamFailed(f"the upstream {upstream.name!r} sent a head that is no HTTP")
        except (UpstreamFailed, UpstreamSlow):
            breaker.note(failed=True)
            self._on_state(upstream.name, breaker.is_open)
            raise
        breaker.note(failed=False)
        self._on_state(upstream.name, False)
        try:
            yield UpstreamReply(
                response.status_code, response.headers.raw, _read(upstream.name, response, idle_s or IDLE_S)
            )
            if response.status_code >= 500:  # some servers close such a connection without saying so
                await response.extensions["network_stream"].aclose()
        finally:
            await response.aclose()

    async def fetch(
        self, upstream: Upstream, method: str, target: str, body: bytes = b""
    ) -> tuple[int, bytes]:
        """Send a request of our own; return the status, and the JSON up to a bound. Errors are those of `send`."""
        data = b""
        async with self.send(
            upstream, method, target, to_send(OF_JSON, upstream.key), body, OWN_IDLE_S
        ) as reply:
            async for chunk in reply.body:
                data += chunk
                if len(data) > MAX_BYTES:
                    break
        return reply.status, data

    async def aclose(self) -> None:
        await self._transport.aclose()


async def _read(name: str, response: httpx.Response, idle_s: float) -> AsyncIterator[bytes]:
    """Read the body of `response.stream`: `aiter_raw` would let others have the connection before it is closed."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    with _translate(name, idle_s):
        async for chunk in response.stream:
            yield chunk


@contextmanager
def _translate(name: str, idle_s: float) -> Iterator[None]:
    """Raise ours for httpx's errors. Their texts are left out, since an address may be private."""
    try:
        yield
    except httpx.PoolTimeout as error:
        raise TooMany(
            f"{MAX_CONNECTIONS:,} requests to upstreams are under way: try again in a moment"
        ) from error
    except httpx.ConnectTimeout as error:
        raise UpstreamFailed(f"the upstream {name!r} cannot be reached within {CONNECT_S:g} s") from error
    except httpx.TimeoutException as error:
        raise UpstreamSlow(f"the upstream {name!r} was silent for {idle_s:g} s") from error
    except httpx.LocalProtocolError as error:  # a fault of the request
        raise InvalidInput(f"the request has no form of HTTP: {error}") from error
    except httpx.HTTPError as error:
        kind = type(error).__name__
        raise UpstreamFailed(f"the upstream {name!r} failed ({kind}): nothing was sent again") from error
