"""One conversation with the service: send, read, retry where that is safe. Written once for both clients.

The blocking client runs the same coroutine as the asyncio one, over a link that never waits for an event loop;
`run_now` takes it from start to end in one step. A long piece of work is answered in lines of JSON: any number of
`progress`, then exactly one `receipt` or `problem`; a response that ends before that last line leaves the outcome open.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import httpx
from pydantic import ValidationError

from errata.errors import (
    Closed,
    Conflict,
    EditRefused,
    ErrataError,
    NotErrata,
    Refused,
    TimedOut,
    TooMany,
    Unavailable,
    Unreachable,
)
from errata.files import Download, Progress, downloads
from errata.problems import of_problem
from errata.request import Call, Reply, T_co, read
from errata.wire import ImportProgress, Problem

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


@dataclass(frozen=True)
class Retry:
    """times: repetitions after the first attempt; 0 switches them off.

    A call that timed out is not repeated: its caller has said how long to wait. A service that wants more
    patience than `longest_pause_s` is not waited for either; the error says when to come back.
    """

    times: int = 2
    first_pause_s: float = 0.2
    longest_pause_s: float = 5.0

    def pause_s(self, attempt: int, error: ErrataError) -> float | None:
        """Seconds to wait after failed attempt number `attempt` (from 0), or None to give up."""
        if attempt >= self.times or not _passing(error):
            return None
        asked_s = (error.retry_after_s or 0.0) if isinstance(error, Refused) else 0.0
        if asked_s > self.longest_pause_s:
            return None
        # Half of the pause is chance, so that callers that failed together do not come back together.
        own_s = self.first_pause_s * 2.0**attempt * random.uniform(0.5, 1.0)
        return min(max(asked_s, own_s), self.longest_pause_s)


def _passing(error: ErrataError) -> bool:
    """Whether the trouble may be over by itself in a moment."""
    if isinstance(error, TimedOut):
        return False
    return isinstance(error, Unreachable | TooMany | Unavailable)


NDJSON = "application/x-ndjson"
BROKEN_OFF = "Errata at {where} stopped telling before it said how it ended"


def tells(response: httpx.Response) -> bool:
    return response.is_success and response.headers.get("content-type", "").split(";")[0].strip() == NDJSON


class Telling:
    """Takes the bytes as they come; `ending` is what they said at last."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._begun = b""
        self._last: dict[str, Any] = {}

    def hear(self, piece: bytes) -> None:
        """Only the line feed ends a line: texts may hold whatever else Unicode calls one."""
        *lines, self._begun = (self._begun + piece).split(b"\n")
        for line in lines:
            self._line(line)

    def ending(self, call: Call[T_co], response: httpx.Response) -> Reply[T_co]:
        """The receipt; or raises what the problem stands for, or Unreachable where neither came."""
        self._line(self._begun)
        if "problem" in self._last:
            raise of_problem(_valid(Problem, self._last["problem"], response))
        if "receipt" not in self._last:
            where = f"{response.url.scheme}://{response.url.netloc.decode()}"
            raise Unreachable(BROKEN_OFF.format(where=where))
        receipt = self._last["receipt"]
        raw = json.dumps(receipt, ensure_ascii=False, separators=(",", ":")).encode()
        return Reply(_valid(call.returns, receipt, response), raw, response.status_code)

    def _line(self, line: bytes) -> None:
        if not line.strip() or self._last:
            return
        try:
            said = json.loads(line)
            if isinstance(said, dict) and "progress" in said:
                self._progress(ImportProgress.model_validate(said["progress"]))
            elif isinstance(said, dict) and {"receipt", "problem"} & set(said):
                self._last = said
        except ValueError as error:  # pydantic's and json's own are both of this kind
            raise _strange(None, error) from error


def _valid(kind: type[Any], value: Any, response: httpx.Response) -> Any:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise _strange(response, error) from error


def _strange(response: httpx.Response | None, error: ValueError) -> NotErrata:
    where = f"{response.url.copy_with(query=None)} " if response is not None else "the service "
    return NotErrata(f"{where}tells its progress, but not as Errata does: {str(error).splitlines()[0][:200]}")
