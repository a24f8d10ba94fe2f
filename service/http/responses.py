"""Outcome to HTTP: the bytes that a replica made leave as they are, as JSON or as an event stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fastapi import Response
from fastapi.responses import StreamingResponse

from service.outcome import Outcome

EVENTS = "text/event-stream"
PROBLEM = "application/problem+json"
NO_BUFFERING = {"cache-control": "no-store", "x-accel-buffering": "no"}


def respond(outcome: Outcome) -> Response:
    return respond_bytes(outcome.status, outcome.body, outcome.headers)


def respond_bytes(status: int, body: bytes, headers: Mapping[str, str]) -> Response:
    return Response(body, status, dict(headers), "application/json" if status < 400 else PROBLEM)


def stream(outcome: Outcome) -> Response:
    """Send the answer as server-sent events. A problem has its own status, so it is never streamed."""
    if outcome.status >= 400:
        return respond(outcome)

    def events() -> Iterator[bytes]:
        yield b"event: answer\ndata: " + outcome.body + b"\n\n"
        yield b"event: done\ndata: {}\n\n"  # last, so that a reader sees whether the stream was cut

    return StreamingResponse(events(), media_type=EVENTS, headers=NO_BUFFERING)
