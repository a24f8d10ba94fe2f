"""Reads a request's body into its wire type: never more than its limit, and once, from bytes to checked object."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from errata.wire import Request as Wire
from fastapi import Request
from pydantic import ValidationError

from service.errors import InvalidInput, Malformed, MalformedJson, TooLarge, TooSlow

ANSWER_LIMIT = 1_000_000  # bytes
ADMIN_LIMIT = 20_000_000
READ_LIMIT_S = 60.0  # for a whole body
MOST_COMPLAINTS = 5
LONGEST_NAME = 100
KINDS = {"correction", "fact", "definition"}
TEXTS = {
    "question",
    "answer",
    "paraphrases",
    "subject",
    "object",
    "context",
    "candidates",
}
"""Too long a one is no mistake of form, but too large."""

NO_OBJECT = 'must be an object with named fields, such as {"question": "..."}: /docs lists them'

Kind = TypeVar("Kind", bound=Wire)


async def parsed(kind: type[Kind], request: Request, limit: int) -> Kind:
    """The body as `kind`. TooLarge before it is read whole, TooSlow, MalformedJson, InvalidInput."""
    data = await _in_time(request, limit)
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise refusal(error) from error


async def _in_time(request: Request, limit: int) -> bytes:
    try:
        async with asyncio.timeout(READ_LIMIT_S):
            return await _bounded(request, limit)
    except TimeoutError as error:
        late = f"the body did not come within {READ_LIMIT_S:g} s: send it faster, or less at once"
        raise TooSlow(late) from error


async def _bounded(request: Request, limit: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body may have {limit:,} bytes: send less, in several requests", limit=limit)


def refusal(error: ValidationError) -> Malformed:
    """What is wrong with the input, field by field, in one sentence."""
    found: list[Any] = error.errors(include_url=False, include_context=False, include_input=False)
    if found[0]["type"] == "json_invalid":
        return MalformedJson(f"the body is not JSON: {found[0]['msg'].removeprefix('Invalid JSON: ')}")
    if all(_is_too_long(one) for one in found):
        return _too_long(error)
    return InvalidInput(_sentence([complaint(one["loc"], _said(one)) for one in found]))


def _said(one: Any) -> str:
    return NO_OBJECT if one["type"] == "model_type" else str(one["msg"])


def _is_too_long(one: Any) -> bool:
    return one["type"] == "string_too_long" and not TEXTS.isdisjoint(one["loc"])


def _too_long(error: ValidationError) -> TooLarge:
    found = error.errors(include_url=False)
    limit: int = found[0]["ctx"]["max_length"]
    said = [complaint(one["loc"], f"has {len(one['input'].strip()):,} characters") for one in found]
    return TooLarge(f"{_sentence(said)}; {limit:,} is the most", limit=limit)


def _sentence(said: list[str]) -> str:
    """Not all of a thousand complaints."""
    more = [f"and {len(said) - MOST_COMPLAINTS} more"] if len(said) > MOST_COMPLAINTS else []
    return "; ".join([*said[:MOST_COMPLAINTS], *more])


def complaint(place: tuple[int | str, ...], message: str) -> str:
    """Without the kinds of edits that pydantic puts between: they are in nobody's JSON."""
    there = [shortened(str(part)) for part in place if part not in KINDS]
    return f"{'.'.join(there)}: {message}" if there else message


def shortened(name: str) -> str:
    """A field that is unknown may have any name, and a refusal does not send all of it back."""
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
