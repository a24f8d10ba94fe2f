"""HTTP responses: the bytes of a replica leave unchanged, as JSON or as an event stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TypeVar

from fastapi import Response
from fastapi.responses import StreamingResponse

from service.outcome import Outcome

T = TypeVar("T")

EVENTS = "text/event-stream"
PROBLEM = "application/problem+json"
NO_BUFFERING = {"cache-control": "no-store", "x-accel-buffering": "no"}


def respond(outcome: Outcome) -> Response:
    return respond_bytes(outcome.status, outcome.body, outcome.headers)


def respond_bytes(status: int, body: bytes, headers: Mapping[str, str]) -> Response:
    return Response(body, status, dict(headers), "application/json" if status < 400 else PROBLEM)


async def stream(items: AsyncIterator[bytes | Outcome]) -> Response:
    """Send deltas and the answer as server-sent events. A problem at the start has its own status, and no stream."""
    first = await anext(items)
    if isinstance(first, Outcome) and first.status >= 400:
        return respond(first)

    async def events() -> AsyncIterator[bytes]:
        async for item in chain(first, items):
            if not isinstance(item, Outcome):
                yield b"event: delta\ndata: " + item + b"\n\n"
            elif item.status >= 400:
                yield b"event: problem\ndata: " + item.body + b"\n\n"
            else:
                yield b"event: answer\ndata: " + item.body + b"\n\n"
                yield b"event: done\ndata: {}\n\n"  # the last event, so that a reader sees whether the stream was cut

    return respond_events(events())


def respond_events(events: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(events, media_type=EVENTS, headers=NO_BUFFERING)


async def chain(first: T, rest: AsyncIterator[T]) -> AsyncIterator[T]:
    yield first
    async for item in rest:
        yield item
