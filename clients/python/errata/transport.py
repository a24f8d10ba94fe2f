"""One exchange with the service: send, read, retry where that is safe. Both clients use it.

The blocking client runs the same coroutine as the asyncio one, over a link that never waits for an event loop;
`run_now` runs it from start to end in one step. A long piece of work is answered in lines of JSON: any number of
`progress`, then exactly one `receipt` or `problem`; a response that ends before that last line leaves the outcome open.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from pydantic import ValidationError

from errata import wire
from errata.errors import (
    Closed,
    Conflict,
    Crashed,
    EditRefused,
    ErrataError,
    NotErrata,
    Refused,
    TimedOut,
    TooMany,
    Unavailable,
    Unreachable,
)
from errata.files import Download, Progress
from errata.problems import from_problem
from errata.request import Call, Reply, T_co, read_reply
from errata.wire import Problem

Value = TypeVar("Value")
NDJSON = "application/x-ndjson"
# Codes of errors before a commit, except those that the service marks as in doubt
BEFORE_COMMITTING = ("ledger_unavailable", "ledger_corrupt")
BEFORE_SENDING = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


@dataclass(frozen=True)
class Retry:
    """Repeats failed calls, `times` times after the first attempt; 0 switches this off.

    A call that timed out is not repeated: its caller has set the time limit. A service that asks for a pause above
    `longest_pause_s` is not waited for; the error has the pause.
    """

    times: int = 2
    first_pause_s: float = 0.2
    longest_pause_s: float = 5.0

    def pause_s(self, attempt: int, error: ErrataError) -> float | None:
        """Return the seconds to wait after failed attempt number `attempt` (from 0), or None to give up."""
        is_transient = isinstance(error, Unreachable | TooMany | Unavailable)
        if attempt >= self.times or not is_transient or isinstance(error, TimedOut):
            return None
        required_s = (error.retry_after_s or 0.0) if isinstance(error, Refused) else 0.0
        if required_s > self.longest_pause_s:
            return None
        # Half of the pause is random, so that callers that failed together do not return together.
        own_s = self.first_pause_s * 2.0**attempt * random.uniform(0.5, 1.0)
        return min(max(required_s, own_s), self.longest_pause_s)


class BlockingLink:
    """Sends requests and waits without an event loop."""

    def __init__(self, http: Any, **options: Any) -> None:
        self.http: httpx.Client = http or httpx.Client(**options)

    async def send(self, request: httpx.Request, sink: Download | LineReader | None) -> httpx.Response:
        """Return the response; its content goes to `sink` piece by piece where that accepts it."""
        with closing(self.http.send(request, stream=True)) as response:
            if sink is not None and sink.accepts(response):
                for piece in response.iter_bytes():
                    sink.write(piece)
            else:
                response.read()
        return response

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251  this coroutine runs without an event loop

    async def run(self, work: Callable[[], Value]) -> Value:
        """Return the result of work that waits for the disk."""
        return work()


class AsyncLink:
    """Sends requests and waits in an event loop."""

    def __init__(self, http: Any, **options: Any) -> None:
        self.http: httpx.AsyncClient = http or httpx.AsyncClient(**options)

    async def send(self, request: httpx.Request, sink: Download | LineReader | None) -> httpx.Response:
        async with aclosing(await self.http.send(request, stream=True)) as response:
            if sink is not None and sink.accepts(response):
                async for piece in response.aiter_bytes():
                    sink.write(piece)
            else:
                await response.aread()
        return response

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def run(self, work: Callable[[], Value]) -> Value:
        return await asyncio.to_thread(work)


def run_now(conversation: Coroutine[Any, Any, Value]) -> Value:
    """Return the result of a coroutine that never suspends."""
    try:
        conversation.send(None)
    except StopIteration as stop:
        value: Value = stop.value
        return value
    conversation.close()
    raise AssertionError("a blocking conversation tried to wait for an event loop")


async def exchange(
    link: BlockingLink | AsyncLink, request: httpx.Request, call: Call[T_co], retry: Retry
) -> Reply[T_co]:
    """Send `request` for `call`, with retries, and return the reply; raise only ErrataError."""
    attempt, may_be_done = 0, False
    while True:
        try:
            return await _attempt(link, request, call)
        except ErrataError as error:
            may_be_done = _may_be_done(may_be_done, error, call.sent_whole)
            pause_s = retry.pause_s(attempt, error) if call.repeatable(error, may_be_done) else None
            if pause_s is None:
                error.in_doubt = may_be_done and not call.reads
                error.idempotency_key = call.idempotency_key if error.in_doubt else None
                raise
        attempt += 1
        await link.pause(pause_s)


async def _attempt(link: BlockingLink | AsyncLink, request: httpx.Request, call: Call[T_co]) -> Reply[T_co]:
    """Send the request once. A file that it receives exists when this returns, and does not when it raises."""
    try:
        return await _receive(link, request, call)
    except BaseException:
        if call.download is not None:
            call.download.discard()
        raise


async def _receive(link: BlockingLink | AsyncLink, request: httpx.Request, call: Call[T_co]) -> Reply[T_co]:
    reader = None if call.upload is None else LineReader(call.upload.progress, address_of(request))
    sink = call.download or reader
    with translate_failures(link.http, request, call):
        response = await link.send(request, sink)
    if sink is None or not sink.accepts(response):
        return read_reply(call, response)
    try:
        raw = await link.run(sink.finish)
        value = call.returns.model_validate_json(raw)
    except ValidationError as error:
        raise _unlike_errata(str(request.url.copy_with(query=None)), error) from error
    return Reply(value, raw, response.status_code, response.headers)


def address_of(request: httpx.Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode()}"


def _may_be_done(before: bool, error: ErrataError, sent_whole: bool) -> bool:
    """Return True if the write may have had its effect.

    A refusal for the content settles it: the service looks for the idempotency key first, so a repetition of a write
    that was made would have got the first receipt. A refusal for the caller, who is too quick or has lost the key, says
    nothing about earlier attempts.

    Args:
        before: True if an earlier attempt may have had the effect.
        error: The error of this attempt.
        sent_whole: True if this attempt sent the whole request.
    """
    if isinstance(error, Conflict | EditRefused | Crashed):
        return False
    if before or not sent_whole:
        return before
    if isinstance(error, Refused):
        in_doubt = error.code not in BEFORE_COMMITTING or bool(error.extra("in_doubt"))
        return error.status >= 500 and in_doubt
    if isinstance(error, NotErrata):
        return error.__cause__ is not None  # without a cause it is a redirect, which has no effect
    return isinstance(error, Unreachable) and error.was_sent


@contextmanager
def translate_failures(
    http: httpx.Client | httpx.AsyncClient, request: httpx.Request, call: Call[Any]
) -> Iterator[None]:
    """Turn exceptions of httpx into errors of Errata, which no other place does."""
    address = address_of(request)
    if http.is_closed:  # another thread may have closed it during a pause
        raise Closed("this client is closed and can send nothing more: make a new one")
    try:
        yield
    except httpx.HTTPError as error:
        was_sent = not isinstance(error, BEFORE_SENDING)
        limits = request.extensions["timeout"]
        why = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
        event = (
            f"the connection to Errata at {address} broke"
            if was_sent
            else f"cannot reach Errata at {address}"
        )
        if isinstance(error, httpx.ConnectTimeout):
            why = f"no connection within {limits['connect']:g} s"
        elif isinstance(error, httpx.TimeoutException):
            sentence = f"Errata at {address} did not answer within {limits['read']:g} s"
            raise TimedOut(sentence, was_sent=was_sent) from error
        elif was_sent and call.upload is not None and not call.sent_whole:
            amount = f"{call.upload.sent_bytes:,} bytes of {call.upload.name}"
            why = f"{why}; only {amount} had been sent: nothing was imported"
        kind = TimedOut if isinstance(error, httpx.ConnectTimeout) else Unreachable
        raise kind(f"{event}: {why}", was_sent=was_sent) from error


class LineReader:
    """Reads a response of JSON lines as it arrives; `finish` returns its last message."""

    def __init__(self, progress: Progress, address: str) -> None:
        self._progress, self._address, self._rest = progress, address, b""
        self._outcome: dict[str, Any] = {}

    @staticmethod
    def accepts(response: httpx.Response) -> bool:
        kind = response.headers.get("content-type", "").split(";")[0].strip()
        return response.is_success and kind == NDJSON

    def write(self, piece: bytes) -> None:
        """Read lines, which only a line feed ends: texts may hold other line ends of Unicode."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._read_line(line)

    def finish(self) -> bytes:
        """Return the receipt; raise the error of a problem, or Unreachable where neither arrived."""
        self._read_line(self._rest)
        if "problem" in self._outcome:
            raise from_problem(Problem.model_validate(self._outcome["problem"]))
        if "receipt" not in self._outcome:
            event = "closed the connection before it reported the outcome"
            raise Unreachable(f"Errata at {self._address} {event}")
        return json.dumps(self._outcome["receipt"], ensure_ascii=False, separators=(",", ":")).encode()

    def _read_line(self, line: bytes) -> None:
        if not line.strip() or self._outcome:
            return
        try:
            message = json.loads(line)
            if isinstance(message, dict) and "progress" in message:
                self._progress(wire.ImportProgress.model_validate(message["progress"]))
            elif isinstance(message, dict) and {"receipt", "problem"} & set(message):
                self._outcome = message
        except ValueError as error:  # the base of pydantic's and of json's errors
            raise _unlike_errata("the service", error) from error


def _unlike_errata(where: str, error: ValueError) -> NotErrata:
    why = str(error).splitlines()[0][:200]
    return NotErrata(f"{where} reports progress, but not as Errata does: {why}")
