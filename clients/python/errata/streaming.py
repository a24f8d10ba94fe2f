"""Answers that arrive in parts, as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from dataclasses import replace
from typing import TypeAlias

import httpx
from httpx_sse import EventSource, ServerSentEvent
from pydantic import ValidationError

from errata.errors import NotErrata, Unreachable
from errata.problems import from_problem
from errata.request import Call, read_reply
from errata.transport import translate_failures
from errata.wire import Answer, AnswerDelta, AnswerRequest, Problem

EVENTS = "text/event-stream"
PARTS = {"delta", "answer", "problem"}  # events besides `done`; a newer service may have more

AnswerPart: TypeAlias = AnswerDelta | Answer  # the next part of an answer, and at last the whole answer


def ask_for_parts(call: Call[Answer]) -> Call[Answer]:
    """Return the same call with an answer in parts."""
    assert isinstance(call.body, AnswerRequest)
    return replace(call, body=call.body.model_copy(update={"stream": True}))


def stream(http: httpx.Client, request: httpx.Request, call: Call[Answer]) -> Generator[AnswerPart]:
    """Yield the parts as they arrive. Closing the generator ends the request. It raises only ErrataError."""
    with (
        translate_failures(http, request, call),
        closing(http.send(request, stream=True)) as response,
    ):
        if not _is_stream(response):
            response.read()
            yield read_reply(call, response).value
            return
        for event in EventSource(response).iter_sse():
            if event.event == "done":
                return
            if event.event in PARTS:
                yield _read(event, request)
    raise _cut(request)


async def astream(
    http: httpx.AsyncClient, request: httpx.Request, call: Call[Answer]
) -> AsyncGenerator[AnswerPart]:
    """Yield the parts as they arrive, as `stream` does."""
    with translate_failures(http, request, call):
        async with aclosing(await http.send(request, stream=True)) as response:
            if not _is_stream(response):
                await response.aread()
                yield read_reply(call, response).value
                return
            async for event in EventSource(response).aiter_sse():
                if event.event == "done":
                    return
                if event.event in PARTS:
                    yield _read(event, request)
    raise _cut(request)


def _is_stream(response: httpx.Response) -> bool:
    media_type: str = response.headers.get("content-type", "").split(";")[0].strip()
    return media_type == EVENTS


def _read(event: ServerSentEvent, request: httpx.Request) -> AnswerPart:
    """Read a part; raise the error of a problem."""
    try:
        if event.event == "delta":
            return AnswerDelta.model_validate_json(event.data)
        if event.event == "answer":
            return Answer.model_validate_json(event.data)
        problem = Problem.model_validate_json(event.data)
    except ValidationError as error:
        raise NotErrata(f"{request.url} streams no events of Errata: is this the right address?") from error
    raise from_problem(problem)


def _cut(request: httpx.Request) -> Unreachable:
    return Unreachable(f"Errata at {request.url.host} stopped before the answer was whole: ask again")
