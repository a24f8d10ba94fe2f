"""Reads what a request carries: its body as a wire type, never more than its limit; a stream; an Idempotency-Key.

FastAPI would read a body before the guard of the route has run, and as Python objects: the README says why that is
not used.
"""

# Without `from __future__ import annotations`: FastAPI cannot resolve the annotations of a callable object.
import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from time import monotonic
from typing import Any, Generic, TypeVar, get_origin
from uuid import uuid4

from errata.wire import IdempotencyHeader
from errata.wire import Request as WireRequest
from errata.wire.mistakes import complain, describe_mistake, locate, name_parameter, point_out
from fastapi import Depends, Request
from pydantic import FailFast, ValidationError, create_model

from service.errors import InvalidInput, Malformed, MalformedJson, TooLarge, TooSlow, UnsupportedMediaType
from service.http.parts import SLICE_BYTES, PartCounter

READ_LIMIT_S = 60.0  # Seconds for a whole body
JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json", re.IGNORECASE)
INLINE_BYTES, INLINE_PARTS = 64_000, 2_000  # Bytes and parts of a body that is parsed on the event loop
MAX_COMPLAINTS = 5
MAX_DESCRIBED = 1_024  # Mistakes that pydantic describes, for which it holds the interpreter
# Fields that may be too large; any other text that is too long is a mistake of form.
TEXTS = {
    "question",
    "answer",
    "paraphrases",
    "counterexamples",
    "subject",
    "object",
    "context",
    "candidates",
    "text",
}

CHUNK = 1_000_000  # Bytes of a stream that are passed on together
FLUSH_S = 10.0  # Seconds after which less is passed on, so that the reader knows that a slow sender lives
SILENCE_S = 60.0  # Seconds between two pieces of a stream
STREAM_LIMIT_S = 6 * 3_600.0  # Seconds for a whole stream, which has one of few slots

Kind = TypeVar("Kind", bound=WireRequest)


@dataclass(frozen=True)
class Bounds:
    """Bytes and parts that a body may have. Pydantic looks at all parts at once, some 0.5 us for each that is wrong."""

    bytes: int
    parts: int


ASKING = Bounds(1_000_000, 16_000)
FEW_FIELDS = Bounds(16_000, 1_000)
EDITS = Bounds(20_000_000, 500_000)  # A preview of 20,000 edits


@dataclass(frozen=True)
class JsonBody(Generic[Kind]):
    """A dependency that reads the body as `kind`."""

    kind: type[Kind]
    bounds: Bounds
    text_types: tuple[str, ...] = ()  # media types of a body that a subclass takes beside JSON

    @cached_property
    def _early(self) -> type[Kind]:
        """The same type, whose lists end at the first item that is wrong."""
        fields: dict[str, Any] = {}
        for name, field in self.kind.model_fields.items():
            if get_origin(field.annotation) is list:
                early = copy(field)
                early.metadata = [*field.metadata, FailFast()]
                fields[name] = field.annotation, early
        return create_model(self.kind.__name__, __base__=self.kind, **fields)

    async def __call__(self, request: Request) -> Kind:
        """Read the body.

        Raises:
            UnsupportedMediaType, MalformedJson, InvalidInput
            TooLarge: It has too many bytes or parts; the rest is not read.
            TooSlow: It did not come in time.
            TooMany: The caller, or all together, make the service hold too many bytes.
        """
        media_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if not JSON_TYPE.fullmatch(media_type):
            raise UnsupportedMediaType(
                "the body has to be JSON, and say so: send content-type: application/json"
            )
        try:
            async with asyncio.timeout(READ_LIMIT_S):
                data, n_parts = await self._read(request)
        except TimeoutError as error:
            detail = f"the body did not come within {READ_LIMIT_S:g} s: send it faster, or less at once"
            raise TooSlow(detail) from error
        kind = self.kind if n_parts <= ASKING.parts else self._early
        if len(data) > INLINE_BYTES or n_parts > INLINE_PARTS:
            return await asyncio.to_thread(_parse, kind, data)
        return _parse(kind, data)

    async def _read(self, request: Request) -> tuple[bytearray, int]:
        """Return the body and how many parts it has."""
        limit, data, counter = self.bounds.bytes, bytearray(), PartCounter(self.bounds.parts)
        content_length = request.headers.get("content-length", "")
        size = length = int(content_length) if content_length.isdecimal() else 0
        if size <= limit:
            request.state.hold_bytes(length)
            async for chunk in request.stream():
                if (size := len(data) + len(chunk)) > limit:
                    break
                request.state.hold_bytes(0 if length else len(chunk))
                data += chunk
                for start in range(0, len(chunk), SLICE_BYTES):
                    counter.add(chunk[start : start + SLICE_BYTES])
                    await asyncio.sleep(0)  # what has come already is handed over without a pause
        if size > limit:
            raise TooLarge(f"the body may have {limit:,} bytes: send less, in several requests", limit=limit)
        return data, counter.n_parts


def _parse(kind: type[Kind], data: bytearray) -> Kind:
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise describe_invalid(error) from error


def json_body(kind: type[WireRequest], bounds: Bounds = FEW_FIELDS) -> Any:
    return Depends(JsonBody(kind, bounds))


def describe_invalid(error: ValidationError, of: Sequence[str] = (), in_query: bool = False) -> Malformed:
    """Say what is wrong with the input, field by field, in one sentence and one by one.

    Args:
        of: What leads to the part of the body that was checked.
        in_query: The fields are parameters, and none is in a body.
    """
    n_mistakes = error.error_count()
    if n_mistakes > MAX_DESCRIBED:
        return InvalidInput(
            f"{n_mistakes:,} fields or items are wrong: send less, to read which; /docs lists them"
        )
    mistakes: list[Any] = error.errors(include_url=False)
    if mistakes[0]["type"] == "json_invalid":
        reason = mistakes[0]["msg"].removeprefix("Invalid JSON: ")
        return MalformedJson(f"the body is not JSON: {reason}")
    point = name_parameter if in_query else partial(point_out, of=of)
    first, n_more = mistakes[:MAX_COMPLAINTS], n_mistakes - MAX_COMPLAINTS
    faults = [point(mistake).model_dump(exclude_none=True) for mistake in first]
    rest = [f"and {n_more} more"] if n_more > 0 else []
    if all(item["type"] == "string_too_long" and not TEXTS.isdisjoint(item["loc"]) for item in mistakes):
        limit: int = mistakes[0]["ctx"]["max_length"]
        sizes = [complain(locate(item), f"has {len(item['input'].strip()):,} characters") for item in first]
        return TooLarge(f"{'; '.join(sizes + rest)}; {limit:,} is the most", limit=limit, errors=faults)
    complaints = [complain(locate(item), describe_mistake(item)) for item in first]
    return InvalidInput("; ".join(complaints + rest), errors=faults)


async def read_chunks(request: Request) -> AsyncIterator[bytes]:
    """Yield the body piece by piece. Raises ClientDisconnect when the sender is gone, TooSlow when it is silent."""
    buffer, due, end = bytearray(), monotonic() + FLUSH_S, monotonic() + STREAM_LIMIT_S
    stream = request.stream()
    while True:
        if monotonic() > end:
            raise TooSlow(
                f"the file did not come within {STREAM_LIMIT_S:g} s: nothing was imported; split it"
            )
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
