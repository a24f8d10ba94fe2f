"""Outcome to HTTP: the bytes that a replica made leave as they are, as JSON or as an event stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fastapi import Response
from fastapi.responses import StreamingResponse

from service.replicas.outcome import Outcome

PROBLEM = "application/problem+json"
UNBUFFERED = {"cache-control": "no-store", "x-accel-buffering": "no"}


def respond(outcome: Outcome) -> Response:
    return sent(outcome.status, outcome.body, outcome.headers)


def sent(status: int, body: bytes, headers: Mapping[str, str]) -> Response:
    media = "application/json" if status < 400 else PROBLEM
    return Response(body, status, dict(headers), media)


def stream(outcome: Outcome) -> Response:
    """The answer as server-sent events. A problem has its own status, so it is never streamed."""
    if outcome.status >= 400:
        return respond(outcome)
    return StreamingResponse(_events(outcome.body), media_type="text/event-stream", headers=UNBUFFERED)


def _events(answer: bytes) -> Iterator[bytes]:
    """`done` comes last, so that a reader sees whether the stream was cut."""
    yield b"event: answer\ndata: " + answer + b"\n\n"
    yield b"event: done\ndata: {}\n\n"
