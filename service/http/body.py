"""Reads a request's body into its wire type: never more than its limit, and once, from bytes to checked object."""

from __future__ import annotations

from typing import Any, TypeVar

from errata.wire import Request as Wire
from fastapi import Request
from pydantic import ValidationError

from service.errors import InvalidInput, Malformed, MalformedJson, TooLarge

ANSWER_LIMIT = 1_000_000  # bytes
ADMIN_LIMIT = 20_000_000
MOST_COMPLAINTS = 5

Kind = TypeVar("Kind", bound=Wire)


async def parsed(kind: type[Kind], request: Request, limit: int) -> Kind:
    """The body as `kind`. TooLarge before it is read whole, MalformedJson, InvalidInput."""
    data = await _bounded(request, limit)
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise refusal(error) from error


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
    said = [complaint(one["loc"], one["msg"]) for one in found[:MOST_COMPLAINTS]]
    more = [f"and {len(found) - len(said)} more"] if len(found) > len(said) else []
    return InvalidInput("; ".join([*said, *more]))


def complaint(place: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, place))}: {message}" if place else message
