"""Pages that are fetched as they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from errata.request import Call

Entry = TypeVar("Entry")
PageCall: TypeAlias = Callable[[Any], Call[Any]]  # `before` -> the call for that page


class Page(Protocol[Entry]):
    """A page, whose `next` is the `before` of the following page, or None on the last."""

    @property
    def entries(self) -> list[Entry]:
        """Its entries, in order."""

    @property
    def next(self) -> Any:
        """The `before` of the following page."""
