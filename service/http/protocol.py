"""HTTP/1.1 with limits, which uvicorn's own protocol lacks: without them a stranger could hold or fill it for ever.

A head is bounded in bytes, number of headers and time; connections are bounded for each address and in all; a client
that does not read its answer, or sends on a body that is not read, is cut off. A check of all connections once a
second finds those whose time is up, so that a request needs no timer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from starlette.types import Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from service.access.caller import source_of
from service.errors import ErrataError, TooLarge, TooMany, TooSlow
from service.http.byte_budget import BUDGET
from service.http.responses import PROBLEM
from service.outcome import Outcome

MAX_HEAD_BYTES = 64_000
MAX_HEADERS = 128
MAX_PIPELINED = 16
HEAD_S = 10.0  # seconds from the first byte of a head, or from the connection, to its end
LEFTOVER_S = 10.0  # seconds for the rest of a body whose request is answered already
STALL_S = 60.0  # seconds in which the reader of an answer takes no byte
LOOK_EVERY_S = 1.0
MAX_CONNECTIONS = 4_096
UNCOUNTED_BYTES = 4_096  # Bytes of a connection that are too few to count in the budget


class Connections:
    """The connections of one server.

    Ray's proxies leave `per_address` and `exempt`, the networks of proxies, unset: a load balancer stands before
    them.
    """

    per_address: ClassVar[int] = MAX_CONNECTIONS
    exempt: ClassVar[Sequence[str]] = ()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._open: set[BoundedProtocol] = set()
        self._counts: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None  # set while connections are open

    def add(self, connection: BoundedProtocol, address: str) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(LOOK_EVERY_S, self._look)
        self._open.add(connection)
        source = source_of(address)
        self._counts[source] += 1
        if len(self._open) > MAX_CONNECTIONS:
            raise TooMany(f"{MAX_CONNECTIONS:,} connections are open already: try again in a moment")
        if self._counts[source] > self.per_address and not self.is_exempt(address):
            detail = (
                f"this address has {self.per_address:,} connections open already: close some, or reuse them"
            )
            raise TooMany(detail)

    def remove(self, connection: BoundedProtocol, address: str) -> None:
        self._open.discard(connection)
        source = source_of(address)
        self._counts[source] -= 1
        if not self._counts[source]:
            del self._counts[source]

    def is_exempt(self, address: str) -> bool:
        return bool(address) and any(ip_address(address) in ip_network(network) for network in self.exempt)

    def _look(self) -> None:
        now = self._loop.time()
        for connection in list(self._open):
            connection.check_times(now)
        self._timer = self._loop.call_later(LOOK_EVERY_S, self._look) if self._open else None


class BoundedProtocol(HttpToolsProtocol):
    """The protocol of one connection. Times are the loop's; None while it waits for nothing."""

    _servers: ClassVar[WeakKeyDictionary[ServerState, Connections]] = WeakKeyDictionary()

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connections = self._servers.setdefault(server_state, Connections(self.loop))
        self._refusal: ErrataError | None = None
        self._in_head = True
        self._head_since: float | None = None
        self._leftover_since: float | None = None
        self._stalled_since: float | None = None
        self._unread_bytes = 0
        self._holder, self._held_bytes = "", 0  # the values that the budget knows
        self._bodiless_bytes = 0  # bytes since the last byte of a body: a head, sizes of chunks, trailers
        self._has_body = False  # whether the data that is being parsed has a body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_since = self.loop.time()
        if not self._connections.is_exempt(self._address):
            self._holder = f"connections of {source_of(self._address)}"
        try:
            self._connections.add(self, self._address)
        except TooMany as error:
            self._refuse(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self, self._address)
        BUDGET.change(self._holder, -self._held_bytes)
        super().connection_lost(exc)

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._in_head and self._head_since is None:
            self._head_since = self.loop.time()
        self._has_body = False
        super().data_received(data)
        self._bodiless_bytes = 0 if self._has_body else self._bodiless_bytes + len(data)
        if self._bodiless_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(_too_large_head())
        self._hold()

    def _hold(self) -> None:
        """Count the head, bodies that wait for the application, and answers that wait for the client."""
        unread_bytes = self.transport.get_write_buffer_size()
        held_bytes = self._bodiless_bytes + unread_bytes + (len(self.cycle.body) if self.cycle else 0)
        held_bytes += sum(len(cycle.body) for cycle, _ in self.pipeline)
        if abs(held_bytes - self._held_bytes) < UNCOUNTED_BYTES:
            return
        try:
            BUDGET.change(self._holder, held_bytes - self._held_bytes)
            self._held_bytes = held_bytes
        except TooMany as error:
            if unread_bytes:
                self.transport.abort()
            elif not self.transport.is_closing():
                self._refuse(error)

    def on_message_begin(self) -> None:
        self._head_since, self._bodiless_bytes = self.loop.time(), 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # otherwise it is a trailer, which is not used
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADERS:
            self._refusal = _too_large_head()
        elif len(self.pipeline) >= MAX_PIPELINED:
            self._refusal = TooMany(f"{MAX_PIPELINED} requests of this connection wait: read their answers")
        if self._refusal is not None:
            raise self._refusal  # httptools passes it on as an error of the parser: `send_400_response`
        self._in_head, self._head_since = False, None
        super().on_headers_complete()
        if self.cycle is not None and self.scope["http_version"] == "1.0":
            self.cycle.send = send_until_close(self.cycle)  # type: ignore[method-assign,assignment]

    def on_body(self, body: bytes) -> None:
        self._has_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._leftover_since = True, None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self._in_head:
            self._leftover_since = self.loop.time()
        super().on_response_complete()

    def resume_writing(self) -> None:
        self._stalled_since = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        if self._refusal is None:
            super().send_400_response(msg)
        else:
            self._refuse(self._refusal)

    def _should_upgrade_to_ws(self) -> bool:
        """Refuse websockets, which would leave this protocol and its limits; no route has one."""
        return False

    def check_times(self, now: float) -> None:
        self._check_reader(now)
        self._hold()
        if self.transport.is_closing():
            return
        if self._leftover_since is not None and now > self._leftover_since + LEFTOVER_S:
            self.transport.abort()
        elif self._head_since is not None and now > self._head_since + HEAD_S:
            if self.flow.read_paused:  # the delay is ours: an answer before this one is not sent yet
                self._head_since = now
            elif self._bodiless_bytes:
                self._refuse(TooSlow(f"a head did not come within {HEAD_S:g} s: send it at once"))
            else:
                self.transport.close()

    def _check_reader(self, now: float) -> None:
        unread_bytes = self.transport.get_write_buffer_size()
        if not unread_bytes or unread_bytes < self._unread_bytes:
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = now
        elif now > self._stalled_since + STALL_S:
            self.transport.abort()
        self._unread_bytes = unread_bytes

    def _refuse(self, error: ErrataError) -> None:
        """Answer with a problem document and hang up; send none if another answer is under way."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_encode(error))
        self.transport.close()


def send_until_close(cycle: RequestResponseCycle) -> Send:
    """Return a `send` for HTTP/1.0, which has no chunks: a body without a length ends with the connection.

    RFC 9112, sections 6.1 and 6.3.
    """
    send, has_length = cycle.send, True

    async def send_plain(message: Any) -> None:
        nonlocal has_length
        if message["type"] == "http.response.start":
            has_length = any(name.lower() == b"content-length" for name, _ in message.get("headers", ()))
            cycle.chunked_encoding = None if has_length else False
        elif not has_length:
            cycle.expected_content_length = len(message.get("body", b""))  # each piece is as long as it says
        await send(message)

    return send_plain


def _too_large_head() -> TooLarge:
    detail = f"the head of a request may have {MAX_HEAD_BYTES:,} bytes and {MAX_HEADERS} headers: send less"
    return TooLarge(detail, limit=MAX_HEAD_BYTES)


def _encode(error: ErrataError) -> bytes:
    outcome = Outcome.of(error, None)
    phrase = HTTPStatus(outcome.status).phrase
    headers = {"content-type": PROBLEM, "content-length": len(outcome.body), "connection": "close"}
    lines = [f"{name}: {value}" for name, value in {**headers, **outcome.headers}.items()]
    return "\r\n".join([f"HTTP/1.1 {outcome.status} {phrase}", *lines, "", ""]).encode() + outcome.body


def set_limits(per_address: int, exempt: Sequence[str], memory_mb: int) -> None:
    """Set the limits of every server in this process; `exempt` are the networks of proxies."""
    Connections.per_address, Connections.exempt = per_address, tuple(exempt)
    BUDGET.total = 1_000_000 * memory_mb
