"""What many ask for at once is made once, few at a time, and no longer than somebody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Build(Generic[T]):
    """One that is under way. askers: how many wait for it; it ends with the last of them."""

    task: asyncio.Task[T]
    askers: int = 0


class Builds(Generic[T]):
    """at_once: how many are under way together; the others wait their turn."""

    def __init__(self, at_once: int) -> None:
        self._turns = asyncio.Semaphore(at_once)
        self._building: dict[Hashable, _Build[T]] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """Raises what `make` raises, to all who wait."""
        if key not in self._building:
            self._building[key] = _Build(asyncio.create_task(self._made(make)))
        build = self._building[key]
        build.askers += 1
        try:
            return await asyncio.shield(build.task)
        finally:
            build.askers -= 1
            if not build.askers:
                del self._building[key]
                build.task.cancel()

    async def _made(self, make: Callable[[], Awaitable[T]]) -> T:
        async with self._turns:
            return await make()
