"""Work for one key, which concurrent callers share or wait for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


@dataclass
class _Flight(Generic[T]):
    """A task in progress, and the number of callers that wait for it."""

    task: asyncio.Task[T]
    waiters: int = 0


class SingleFlight(Generic[T]):
    """Concurrent requests for one key share one task, which is cancelled when no caller waits for it any more.

    Args:
        max_concurrent: Number of tasks of different keys that run together; the others wait their turn.
    """

    def __init__(self, max_concurrent: int) -> None:
        self._slots = asyncio.Semaphore(max_concurrent)
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `make`, or raise its error; it runs once for all callers that wait for `key`."""

        async def run() -> T:
            async with self._slots:
                return await make()

        if key not in self._flights:
            self._flights[key] = _Flight(asyncio.create_task(run()))
        flight = self._flights[key]
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters:
                del self._flights[key]
                flight.task.cancel()


class KeyedSemaphore:
    """A semaphore for each key: at most `maximum` blocks of one key run at once, and further ones wait."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._semaphores: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[None]:
        semaphore = self._semaphores.setdefault(key, asyncio.Semaphore(self._maximum))
        async with semaphore:
            yield
