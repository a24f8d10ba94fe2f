"""One conversation with the service: send, read, repeat where that is safe. Written once for both clients.

The blocking client runs the same coroutine as the asyncio one, over a link that never waits for an event
loop; `run_now` then takes it from start to end in one step.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing, closing
from typing import Any, Protocol, TypeVar

import httpx

from errata.call import Call, Reply, T_co, read
from errata.download import Download, downloads
from errata.errors import (
    Closed,
    Conflict,
    EditRefused,
    ErrataError,
    NotErrata,
    Refused,
    TimedOut,
    Unreachable,
)
from errata.retry import Retry
from errata.telling import Telling, tells

Value = TypeVar("Value")
Hear = Callable[[bytes], None]
Streams = Callable[[httpx.Response], bool]
# What the service says before it commits, unless it adds that it is in doubt.
BEFORE_COMMITTING = ("ledger_unavailable", "ledger_corrupt")
BEFORE_SENDING = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


class Link(Protocol):
    """How bytes get to the service, and how to wait."""

    async def send(self, request: httpx.Request) -> httpx.Response: ...

    async def follow(self, request: httpx.Request, hear: Hear, streams: Streams) -> httpx.Response:
        """The same, but of a response that `streams` each piece is heard as it comes, and none kept."""

    async def pause(self, seconds: float) -> None: ...


class BlockingLink:
    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    async def send(self, request: httpx.Request) -> httpx.Response:
        _refuse_closed(self._http)
        return self._http.send(request)

    async def follow(self, request: httpx.Request, hear: Hear, streams: Streams) -> httpx.Response:
        _refuse_closed(self._http)
        with closing(self._http.send(request, stream=True)) as response:
            if streams(response):
                for piece in response.iter_bytes():
                    hear(piece)
            else:
                response.read()
        return response

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251  no event loop runs here


class AsyncLink:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def send(self, request: httpx.Request) -> httpx.Response:
        _refuse_closed(self._http)
        return await self._http.send(request)

    async def follow(self, request: httpx.Request, hear: Hear, streams: Streams) -> httpx.Response:
        _refuse_closed(self._http)
        async with aclosing(await self._http.send(request, stream=True)) as response:
            if streams(response):
                async for piece in response.aiter_bytes():
                    hear(piece)
            else:
                await response.aread()
        return response

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _refuse_closed(http: httpx.Client | httpx.AsyncClient) -> None:
    """For each attempt: another thread may close the client during a pause."""
    if http.is_closed:
        raise Closed("this client is closed and can send nothing more: make a new one")


async def exchange(link: Link, request: httpx.Request, call: Call[T_co], retry: Retry) -> Reply[T_co]:
    """The reply to `call`, which `request` carries. Raises nothing but ErrataError."""
    attempt, may_be_made = 0, False
    while True:
        try:
            return await _attempt(link, request, call)
        except ErrataError as error:
            may_be_made = _may_be_made(may_be_made, error, call.arrived)
            pause_s = retry.pause_s(attempt, error) if call.repeatable(error, may_be_made) else None
            if pause_s is None:
                error.in_doubt = may_be_made and not call.reads
                error.idempotency_key = call.idempotency_key if error.in_doubt else None
                raise
        attempt += 1
        await link.pause(pause_s)


async def _attempt(link: Link, request: httpx.Request, call: Call[T_co]) -> Reply[T_co]:
    if call.download is not None:
        return await _downloaded(link, request, call, call.download)
    if call.upload is None:
        return read(call, await _answered(link.send(request), request, call))
    telling = Telling(call.upload.progress)
    response = await _answered(link.follow(request, telling.hear, tells), request, call)
    return telling.ending(call, response) if tells(response) else read(call, response)


async def _downloaded(link: Link, request: httpx.Request, call: Call[T_co], file: Download) -> Reply[T_co]:
    """The file is there when this returns, and else not."""
    try:
        response = await _answered(link.follow(request, file.take, downloads), request, call)
        if not downloads(response):
            return read(call, response)
        head = file.done()
    except BaseException:
        file.drop()
        raise
    raw = head.model_dump_json().encode()
    return Reply(call.returns.model_validate_json(raw), raw, response.status_code)


def _may_be_made(before: bool, error: ErrataError, arrived: bool) -> bool:
    """Whether what was sent may have had its effect; before: by an earlier attempt. arrived: all of it was sent.

    What is refused for its content settles it: the service looks for the key first, and a repetition of a write
    that was made would have got the first receipt. A refusal at the door, as of a caller who is too quick or has
    no key any more, says nothing about what was sent before.
    """
    if isinstance(error, Conflict | EditRefused):
        return False
    return before or (arrived and _may_have_worked(error))


def _may_have_worked(error: ErrataError) -> bool:
    """Whether a request that ended like this may have had its effect."""
    if isinstance(error, Refused):
        in_doubt = error.code not in BEFORE_COMMITTING or bool(error.extra("in_doubt"))
        return error.status >= 500 and in_doubt
    if isinstance(error, NotErrata):
        return error.__cause__ is not None  # without a cause it is a redirect: nobody has done anything
    return isinstance(error, Unreachable) and error.sent


def run_now(conversation: Coroutine[Any, Any, Value]) -> Value:
    """The result of a coroutine that never suspends."""
    try:
        conversation.send(None)
    except StopIteration as done:
        value: Value = done.value
        return value
    conversation.close()
    raise AssertionError("a blocking conversation tried to wait for an event loop")


async def _answered(
    sending: Coroutine[Any, Any, httpx.Response], request: httpx.Request, call: Call[Any]
) -> httpx.Response:
    """The one place where httpx's own exceptions are turned into ours."""
    where = f"{request.url.scheme}://{request.url.netloc.decode()}"
    try:
        return await sending
    except httpx.TimeoutException as error:
        raise TimedOut(_late(request, where, error), sent=not isinstance(error, BEFORE_SENDING)) from error
    except httpx.HTTPError as error:
        why = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
        sent = not isinstance(error, BEFORE_SENDING)
        what = f"the connection to Errata at {where} broke" if sent else f"cannot reach Errata at {where}"
        raise Unreachable(f"{what}: {why}{_unfinished(call, sent)}", sent=sent) from error


def _unfinished(call: Call[Any], sent: bool) -> str:
    if call.arrived or not sent or call.upload is None:
        return ""
    return (
        f"; only {call.upload.sent_bytes:,} bytes of {call.upload.name} had been sent: nothing was imported"
    )


def _late(request: httpx.Request, where: str, error: httpx.TimeoutException) -> str:
    limits = request.extensions["timeout"]
    if isinstance(error, httpx.ConnectTimeout):
        return f"cannot reach Errata at {where}: no connection within {limits['connect']:g} s"
    return f"Errata at {where} did not answer within {limits['read']:g} s"
