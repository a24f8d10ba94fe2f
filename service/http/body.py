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
from pydantic_core import InitErrorDetails, PydanticCustomError, from_json, to_json

from service.errors import InvalidInput, Malformed, MalformedJson, TooLarge, TooSlow, UnsupportedMediaType
from service.http.body_scanner import BodyScanner, Bounds

ANSWER_BOUNDS = Bounds(bytes=1_000_000, objects=64, fields=256, items=512)
BATCH_BOUNDS = Bounds(bytes=1_000_000, objects=512, fields=4_096, items=4_096)
CHAT_BOUNDS = Bounds(bytes=1_000_000, objects=4_096, fields=8_192, items=4_096)
# A preview of 20,000 edits.
ADMIN_BOUNDS = Bounds(bytes=20_000_000, objects=25_000, fields=200_000, items=500_000)
READ_LIMIT_S = 60.0  # for a whole body
JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json", re.IGNORECASE)
INLINE_BYTES = 64_000  # of a body that is parsed on the event loop
MAX_COUNTED = 2_000  # fields and items of a body whose mistakes are all counted
MAX_COMPLAINTS = 5
MAX_DESCRIBED = 1_024  # mistakes that pydantic is let describe together
PART = 16  # items of a list in which the first mistakes are looked for together
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

CHUNK = 1_000_000  # bytes of a stream that are passed on together
FLUSH_S = 10.0  # what a slow sender has sent is passed on, so that whoever reads it knows that it lives
SILENCE_S = 60.0  # between two pieces of a stream

Kind = TypeVar("Kind", bound=WireRequest)


@dataclass(frozen=True)
class JsonBody(Generic[Kind]):
    """A dependency that reads the body as `kind`."""

    kind: type[Kind]
    bounds: Bounds
    text_types: tuple[str, ...] = ()  # media types of a body that a subclass takes beside JSON

    @cached_property
    def _early(self) -> type[Kind]:
        """The same type, whose lists stop at the first item that is wrong."""
        fields: dict[str, Any] = {}
        for name, field in self.kind.model_fields.items():
            if get_origin(field.annotation) is list:
                early = copy(field)
                early.metadata = [*field.metadata, FailFast()]
                fields[name] = field.annotation, early
        return create_model(self.kind.__name__, __base__=self.kind, **fields)

    async def __call__(self, request: Request) -> Kind:
        """Raises UnsupportedMediaType, TooLarge before the body is read whole, TooSlow, MalformedJson, InvalidInput."""
        media_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if not JSON_TYPE.fullmatch(media_type):
            raise UnsupportedMediaType(
                "the body has to be JSON, and say so: send content-type: application/json"
            )
        try:
            async with asyncio.timeout(READ_LIMIT_S):
                data, is_large = await self._read(request)
        except TimeoutError as error:
            detail = f"the body did not come within {READ_LIMIT_S:g} s: send it faster, or less at once"
            raise TooSlow(detail) from error
        if is_large or len(data) > INLINE_BYTES:
            return await asyncio.to_thread(self._parse, data, is_large)
        return self._parse(data, is_large)

    async def _read(self, request: Request) -> tuple[bytearray, bool]:
        """Return the body, and whether it has very many parts."""
        limit, data, scanner = self.bounds.bytes, bytearray(), BodyScanner(self.bounds)
        content_length = request.headers.get("content-length", "")
        size = int(content_length) if content_length.isdecimal() else 0
        if size <= limit:
            async for chunk in request.stream():
                data += chunk
                if (size := len(data)) > limit:
                    break
                scanner.feed(chunk)
                await asyncio.sleep(0)  # what has come already is handed over without a pause
        if size > limit:
            raise TooLarge(f"the body may have {limit:,} bytes: send less, in several requests", limit=limit)
        return data, scanner.n_parts > MAX_COUNTED

    def _parse(self, data: bytearray, is_large: bool) -> Kind:
        kind = self._early if is_large else self.kind
        try:
            return kind.model_validate_json(data)
        except ValidationError as error:
            if not is_large and error.error_count() <= MAX_DESCRIBED:
                raise describe_invalid(error) from error
            first = find_first(self.kind, data, error)
            raise describe_invalid(first, is_counted=False) from first


def json_body(kind: type[WireRequest], bounds: Bounds = ADMIN_BOUNDS) -> Any:
    return Depends(JsonBody(kind, bounds))


def find_first(kind: type[WireRequest], data: bytearray, error: ValidationError) -> ValidationError:
    """Return the first mistakes in the longest list of a body, one more than is told; `error` where it has none.

    Pydantic looks for all mistakes or for one, and describes all or none, and holds the interpreter meanwhile.
    """
    try:
        content = from_json(data)
    except ValueError:  # no JSON, as `error` says
        return error
    if not isinstance(content, dict):
        return error
    lists = {name: value for name, value in content.items() if isinstance(value, list)}
    name = max(lists, key=lambda name: len(lists[name]), default="")
    mistakes: list[InitErrorDetails] = []
    for start in range(0, len(lists.get(name, [])), PART):
        try:
            kind.model_validate_json(to_json({name: lists[name][start : start + PART]}))
        except ValidationError as part:
            mistakes += [
                InitErrorDetails(
                    type=PydanticCustomError(item["type"], item["msg"], item.get("ctx")),
                    loc=(name, start + int(item["loc"][1]), *item["loc"][2:]),
                    input=item["input"],
                )
                for item in part.errors(include_url=False)
                if item["loc"][0] == name and len(item["loc"]) > 1
            ]
        if len(mistakes) > MAX_COMPLAINTS:
            break
    return (
        ValidationError.from_exception_data(error.title, mistakes[: MAX_COMPLAINTS + 1])
        if mistakes
        else error
    )


def describe_invalid(
    error: ValidationError, is_counted: bool = True, of: Sequence[str] = (), in_query: bool = False
) -> Malformed:
    """Say what is wrong with the input, field by field, in one sentence and one by one.

    Args:
        is_counted: `error` has all that there is.
        of: What leads to the part of the body that was checked.
        in_query: The fields are parameters, and none is in a body.
    """
    mistakes: list[Any] = error.errors(include_url=False)
    if mistakes[0]["type"] == "json_invalid":
        reason = mistakes[0]["msg"].removeprefix("Invalid JSON: ")
        return MalformedJson(f"the body is not JSON: {reason}")
    point = name_parameter if in_query else partial(point_out, of=of)
    faults = [point(mistake).model_dump(exclude_none=True) for mistake in mistakes[:MAX_COMPLAINTS]]
    if all(item["type"] == "string_too_long" and not TEXTS.isdisjoint(item["loc"]) for item in mistakes):
        limit: int = mistakes[0]["ctx"]["max_length"]
        sizes = [
            complain(locate(item), f"has {len(item['input'].strip()):,} characters") for item in mistakes
        ]
        return TooLarge(f"{_join(sizes, is_counted)}; {limit:,} is the most", limit=limit, errors=faults)
    complaints = [complain(locate(item), describe_mistake(item)) for item in mistakes]
    return InvalidInput(_join(complaints, is_counted), errors=faults)


def _join(complaints: list[str], is_counted: bool) -> str:
    """Not all of a thousand complaints."""
    n_more = len(complaints) - MAX_COMPLAINTS
    rest = [f"and {n_more} more" if is_counted else "and more"] if n_more > 0 else []
    return "; ".join([*complaints[:MAX_COMPLAINTS], *rest])


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
