"""One pydantic adapter for all parameters of routes with the same type and limits.

Each test of the service builds the application anew, and creating its adapters takes most of the time.
"""

from __future__ import annotations

from typing import Any, get_args

from fastapi._compat import v2
from pydantic import TypeAdapter

_adapters: dict[Any, TypeAdapter[Any]] = {}


def share() -> None:
    v2.TypeAdapter = find  # type: ignore[attr-defined,assignment]


def find(type_: Any, *, config: Any = None) -> TypeAdapter[Any]:
    """Return an adapter of an annotated type; one that is cached keeps what its key names alive."""
    kind, *limits = get_args(type_)
    try:
        hash(kind)
    except TypeError:
        return TypeAdapter(type_, config=config)
    key = (kind, repr(kind), repr(limits), repr(config))
    if key not in _adapters:
        _adapters[key] = TypeAdapter(type_, config=config)
    return _adapters[key]
