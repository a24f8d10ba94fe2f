"""Reads the contents of a request: its body as a wire type, within a limit; a stream; an Idempotency-Key.

FastAPI would read a body before the guard of the route has run, and as Python objects: the README says why that is
not used.
"""

from __future__ import annotations

import asyncio
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import AsyncIterator, Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, partial
from time import monotonic
from typing import Any, Generic, TypeVar, get_origin
from uuid import uuid4

from errata.wire import IdempotencyHeader
from errata.wire import Request as WireRequest
from errata.wire.mistakes import complain, describe_mistake, locate, name_parameter, point_out
from fastapi import Depends, Request
from pydantic import FailFast, ValidationError, create_model

from service.errors import (
    InvalidInput,
    Malformed,
    MalformedJson,
    TooLarge,
    TooSlow,
    UnsupportedMediaType,
)

# `from __future__ import annotations` is left out: FastAPI cannot resolve the annotations of a callable object.

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

SLICE_BYTES = 16_384  # Bytes of a body that are scanned together, within a millisecond
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+("|\\?\Z)', re.DOTALL)  # To its end, or to that of the data
SIGNS = b"{", b"[", b":", b","

Kind = TypeVar("Kind", bound=WireRequest)


@dataclass(frozen=True)
class Bounds:
    bytes: int
    parts: int


ASKING = Bounds(1_000_000, 16_000)
MESSAGES = Bounds(1_000_000, 20_000)  # 2,000 messages
FEW_FIELDS = Bounds(16_000, 1_000)
EDITS = Bounds(20_000_000, 500_000)  # A preview of 20,000 edits


class PartCounter:
    """Takes a body in pieces; `limit` bounds its texts and the signs that open or separate values."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open_text = b""  # an unfinished text, which is read together with the next piece
        self.n_parts = 0

    def add(self, data: bytes) -> None:
        """Raise TooLarge as soon as there are too many parts."""
        pieces = STRING.split(self._open_text + data)
        is_open = len(pieces) > 1 and pieces[-2] != b'"'
        self._open_text = b'"' + pieces[-2] if is_open else b""
        structure = b"".join(pieces[::2])
        self.count(len(pieces) // 2 - is_open + sum(map(structure.count, SIGNS)))

    def count(self, n_parts: int) -> None:
        """Count further parts; raise TooLarge if there are too many."""
        self.n_parts += n_parts
        if self.n_parts > self._limit:
            detail = f"the body may have {self._limit:,} parts (texts, fields, items, brackets)"
            raise TooLarge(f"{detail}: send less, in several requests", limit=self._limit)


@dataclass(frozen=True)
class JsonBody(Generic[Kind]):
    """A dependency that reads the body as `kind`."""

    kind: type[Kind]
    bounds: Bounds
    text_types: tuple[str, ...] = ()  # media types of a body that a subclass takes beside JSON

    async def __call__(self, request: Request) -> Kind:
        data, n_parts = await self.read(request, self.bounds)
        return await self.parse(data, n_parts)

    async def read(self, request: Request, bounds: Bounds) -> tuple[bytes, int]:
        """Return the bytes of a body, which says that it is JSON, and the number of its parts."""
        media_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if not JSON_TYPE.fullmatch(media_type):
            raise UnsupportedMediaType("the body has to be JSON: send content-type: application/json")
        encoding = request.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            detail = f"a body with content-encoding {encoding[:40]} is not read: send it as it is"
            raise UnsupportedMediaType(detail)
        counter = PartCounter(bounds.parts)
        data = await read_body(request, _too_large(bounds.bytes), bounds.bytes, counter.add)
        return data, counter.n_parts

    async def parse(self, data: bytes, n_parts: int) -> Kind:
        """Return the request in a body; TooLarge if it was read within other bounds and is beyond its own."""
        if len(data) > self.bounds.bytes:
            raise _too_large(self.bounds.bytes)
        PartCounter(self.bounds.parts).count(n_parts)
        kind = self.kind if n_parts <= ASKING.parts else end_lists_early(self.kind)
        if len(data) > INLINE_BYTES or n_parts > INLINE_PARTS:
            return await asyncio.to_thread(_parse, kind, data)
        return _parse(kind, data)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body may have {limit:,} bytes: send less, in several requests", limit=limit)


def _parse(kind: type[Kind], data: bytes) -> Kind:
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise MalformedJson("the body is not JSON in UTF-8, but UTF-16: send UTF-8")
    try:
        return kind.model_validate_json(data.removeprefix(BOM_UTF8))
    except ValidationError as error:
        raise describe_invalid(error) from error


@cache
def end_lists_early(kind: type[Kind]) -> type[Kind]:
    """Return a type whose lists are checked up to the first wrong item: pydantic holds the interpreter meanwhile."""
    fields: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        if get_origin(field.annotation) is list:
            early = copy(field)
            early.metadata = [*field.metadata, FailFast()]
            fields[name] = field.annotation, early
    return create_model(kind.__name__, __base__=kind, **fields)


async def read_body(
    request: Request, too_large: TooLarge, most_bytes: int, look: Callable[[bytes], object] = len
) -> bytes:
    """Read a whole body.

    Args:
        too_large: Error of a body with more than `most_bytes`.
        look: Receives each piece before the next is read; an error that it raises ends the reading.

    Raises:
        TooSlow: It did not arrive in time.
        TooMany: The caller, or all together, make the service hold too many bytes.
    """
    content_length, data = request.headers.get("content-length", ""), bytearray()
    length = int(content_length) if content_length.isdecimal() else 0
    if length > most_bytes:
        raise too_large
    request.state.hold_bytes(length)
    try:
        async with asyncio.timeout(READ_LIMIT_S):
            async for chunk in request.stream():
                if len(data) + len(chunk) > most_bytes:
                    raise too_large
                request.state.hold_bytes(0 if length else len(chunk))
                data += chunk
                for start in range(0, len(chunk), SLICE_BYTES):
                    look(chunk[start : start + SLICE_BYTES])
                    await asyncio.sleep(0)  # data that has arrived already is handed over without a pause
    except TimeoutError as error:
        detail = f"the body did not come within {READ_LIMIT_S:g} s: send it faster, or less at once"
        raise TooSlow(detail) from error
    return bytes(data)


def json_body(kind: type[WireRequest], bounds: Bounds = FEW_FIELDS) -> Any:
    return Depends(JsonBody(kind, bounds))


def describe_invalid(error: ValidationError, of: Sequence[str] = (), in_query: bool = False) -> Malformed:
    """Return the error of an invalid input, which lists its faults in one sentence and one by one.

    Args:
        of: Path to the part of the body that was checked.
        in_query: Whether the fields are parameters of the query.
    """
    n_mistakes = error.error_count()
    if n_mistakes > MAX_DESCRIBED:
        return InvalidInput(f"{n_mistakes:,} fields or items are wrong: send less to read which ones")
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
        sizes = [complain(locate(item), f"has {_count_chars(item['input']):,} characters") for item in first]
        return TooLarge(f"{'; '.join(sizes + rest)}; {limit:,} is the most", limit=limit, errors=faults)
    complaints = [complain(locate(item), describe_mistake(item)) for item in first]
    return InvalidInput("; ".join(complaints + rest), errors=faults)


def _count_chars(value: str | list[str]) -> int:
    return len(value.strip()) if isinstance(value, str) else sum(map(len, value))


async def read_chunks(request: Request) -> AsyncIterator[bytes]:
    """Yield the body piece by piece; raise ClientDisconnect if the sender is gone, and TooSlow if it is silent."""
    buffer, due, end = bytearray(), monotonic() + FLUSH_S, monotonic() + STREAM_LIMIT_S
    stream = request.stream()
    while True:
        if monotonic() > end:
            raise TooSlow(f"the file did not come within {STREAM_LIMIT_S:g} s: nothing was imported")
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
    """Return the Idempotency-Key, or a new one: with it a write may be sent again and is made once."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return f"request-{uuid4().hex}"
    try:
        return IdempotencyHeader(idempotency_key=key).idempotency_key
    except ValidationError as error:
        detail = "the Idempotency-Key may have 1 to 200 printable characters without spaces"
        raise InvalidInput(f"{detail}: {describe_invalid(error).detail}") from error
