"""Work of a processor, away from the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

T = TypeVar("T")


async def in_thread(items: Iterator[T]) -> AsyncIterator[T]:
    """Each of them made in a thread, one after the other; None is none of them."""
    while (item := await asyncio.to_thread(next, items, None)) is not None:
        yield item
