"""Reads what a request carries: its body as a wire type, never more than its limit; a stream; an Idempotency-Key.

FastAPI would read a body before the guard of the route has run, and as Python objects: the README says why that is
not used.
"""

# Without `from __future__ import annotations`: FastAPI cannot resolve the annotations of a callable object.
import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, TypeVar
from uuid import uuid4

from errata.wire import IdempotencyHeader
from errata.wire import Request as WireRequest
from fastapi import Depends, Request
from pydantic import ValidationError

from service.errors import InvalidInput, Malformed, MalformedJson, TooLarge, TooSlow

ANSWER_LIMIT = 1_000_000  # bytes
ADMIN_LIMIT = 20_000_000
READ_LIMIT_S = 60.0  # for a whole body
MAX_COMPLAINTS = 5
MAX_NAME_CHARS = 100
UNION_TAGS = {"correction", "fact", "definition"}
# Fields that may be too large; any other text that is too long is a mistake of form.
TEXTS = {"question", "answer", "paraphrases", "subject", "object", "context", "candidates"}
NOT_AN_OBJECT = 'must be an object with named fields, such as {"question": "..."}: /docs lists them'

CHUNK = 1_000_000  # bytes of a stream that are passed on together
FLUSH_S = 10.0  # what a slow sender has sent is passed on, so that whoever reads it knows that it lives
SILENCE_S = 60.0  # between two pieces of a stream

Kind = TypeVar("Kind", bound=WireRequest)


@dataclass(frozen=True)
class JsonBody(Generic[Kind]):
    """A dependency that reads the body as `kind`. limit: bytes."""

    kind: type[Kind]
    limit: int

    async def __call__(self, request: Request) -> Kind:
        """Raises TooLarge before the body is read whole, TooSlow, MalformedJson, InvalidInput."""
        content_length = request.headers.get("content-length", "")
        size = int(content_length) if content_length.isdecimal() else 0
        data = bytearray()
        try:
            async with asyncio.timeout(READ_LIMIT_S):
                if size <= self.limit:
                    async for chunk in request.stream():
                        data += chunk
                        if (size := len(data)) > self.limit:
                            break
        except TimeoutError as error:
            detail = f"the body did not come within {READ_LIMIT_S:g} s: send it faster, or less at once"
            raise TooSlow(detail) from error
        if size > self.limit:
            detail = f"the body may have {self.limit:,} bytes: send less, in several requests"
            raise TooLarge(detail, limit=self.limit)
        try:
            return self.kind.model_validate_json(data)
        except ValidationError as error:
            raise describe_invalid(error) from error


def json_body(kind: type[WireRequest], limit: int = ADMIN_LIMIT) -> Any:
    return Depends(JsonBody(kind, limit))


def describe_invalid(error: ValidationError) -> Malformed:
    """Say what is wrong with the input, field by field, in one sentence."""
    mistakes: list[Any] = error.errors(include_url=False, include_context=False, include_input=False)
    if mistakes[0]["type"] == "json_invalid":
        reason = mistakes[0]["msg"].removeprefix("Invalid JSON: ")
        return MalformedJson(f"the body is not JSON: {reason}")
    if all(item["type"] == "string_too_long" and not TEXTS.isdisjoint(item["loc"]) for item in mistakes):
        mistakes = list(error.errors(include_url=False))
        limit: int = mistakes[0]["ctx"]["max_length"]
        sizes = [complain(item["loc"], f"has {len(item['input'].strip()):,} characters") for item in mistakes]
        return TooLarge(f"{_join(sizes)}; {limit:,} is the most", limit=limit)
    complaints = [
        complain(item["loc"], NOT_AN_OBJECT if item["type"] == "model_type" else item["msg"])
        for item in mistakes
    ]
    return InvalidInput(_join(complaints))


def _join(complaints: list[str]) -> str:
    """Not all of a thousand complaints."""
    rest = len(complaints) - MAX_COMPLAINTS
    return "; ".join([*complaints[:MAX_COMPLAINTS], *([f"and {rest} more"] if rest > 0 else [])])


def complain(location: tuple[int | str, ...], message: str) -> str:
    """Name the field. The kinds of edits that pydantic puts between are left out: they are in nobody's JSON."""
    names = [shorten(str(part)) for part in location if part not in UNION_TAGS]
    return f"{'.'.join(names)}: {message}" if names else message


def shorten(name: str) -> str:
    """An unknown field may have any name, and a refusal does not send all of it back."""
    return name if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]}..."


async def read_chunks(request: Request) -> AsyncIterator[bytes]:
    """Yield the body piece by piece. Raises ClientDisconnect when the sender is gone, TooSlow when it is silent."""
    buffer, due = bytearray(), monotonic() + FLUSH_S
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(SILENCE_S):
                buffer += await anext(stream)
        except StopAsyncIteration:
            break
        except TimeoutError as error:
            raise TooSlow(f"nothing came for {SILENCE_S:g} s: nothing was imported; send it again") from error
        if len(buffer) >= CHUNK or monotonic() > due:
            yield bytes(buffer)
            buffer.clear()
            due = monotonic() + FLUSH_S
    if buffer:
        yield bytes(buffer)


def read_idempotency_key(request: Request) -> str:
    """Return the Idempotency-Key, a new one if there is none: with it a write is sent again and made once.

    Raises:
        InvalidInput
    """
    key = request.headers.get("idempotency-key")
    if key is None:
        return f"request-{uuid4().hex}"
    try:
        return IdempotencyHeader(idempotency_key=key).idempotency_key
    except ValidationError as error:
        detail = "the Idempotency-Key may have 1 to 200 printable characters without spaces"
        raise InvalidInput(f"{detail}: {describe_invalid(error).detail}") from error
