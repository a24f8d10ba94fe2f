"""The few patterns of asyncio, threads and garbage collection that every part of the service shares."""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

CANCEL_EVERY_S = 0.2


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


class Refreshing(Generic[T]):
    """A value that one task reads anew for all who want it; it stays while later readings fail.

    Args:
        pause_s: Seconds after the end of a reading before the next one begins.

    Attributes:
        value: The result of the last successful reading.
        read_at: Time of that reading; minus infinity before the first.
        error: The error of the last reading, if it failed.
    """

    def __init__(
        self, read: Callable[[], Awaitable[T]], pause_s: float = 0.0, clock: Callable[[], float] = monotonic
    ) -> None:
        self._read, self._pause_s, self._clock = read, pause_s, clock
        self.value: T | None = None
        self.error: BaseException | None = None
        self.read_at = self._tried_at = self._began_at = float("-inf")
        self.task: asyncio.Task[None] | None = None

    @property
    def age_s(self) -> float:
        return self._clock() - self.read_at

    @property
    def is_new(self) -> bool:
        return self._tried_at == float("-inf")

    def current(self, max_age_s: float) -> T | None:
        return self.value if self.error is None and self.age_s < max_age_s else None

    async def get(self) -> T:
        """Return a value that is no older than the pause; raise what its reading raises."""
        await self.refresh()
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # T may include None

    def start(self) -> None:
        """Begin to read unless a reading is under way or has just ended.

        It runs in no request's context: Ray ends the calls of a request when its caller disconnects.
        """
        if self.task is None and self._clock() - self._tried_at >= self._pause_s:
            self._began_at = self._clock()
            self.task = asyncio.create_task(self._run(), context=Context())

    async def wait(self, limit_s: float) -> None:
        """Wait for the end of the reading that is under way, no longer than `limit_s` from its beginning."""
        if self.task is not None:
            await asyncio.wait([self.task], timeout=max(0.0, self._began_at + limit_s - self._clock()))

    async def refresh(self, wait_s: float | None = None) -> None:
        """Read anew, and wait for the end of the reading, `wait_s` at most."""
        self.start()
        if self.task is not None:
            await asyncio.wait([self.task], timeout=wait_s)

    async def _run(self) -> None:
        try:
            self.value, self.error = await self._read(), None
            self.read_at = self._clock()
        except BaseException as error:
            self.error = error
            if not isinstance(error, Exception):
                raise
        finally:
            self._tried_at, self.task = self._clock(), None


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


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and return when each has ended with any outcome.

    Each is cancelled until it ends: Python 3.11's `wait_for`, in which redis-py writes, swallows a cancellation that
    arrives when its inner task is done.
    """
    tasks = list(tasks)
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=CANCEL_EVERY_S)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # retrieved, so that the loop does not log it


async def finish(closing: Coroutine[Any, Any, None]) -> None:
    """Run `closing` to its end even when the caller is cancelled meanwhile; raise the cancellation afterwards.

    Pools of redis-py close their connections in tasks; a task that is cancelled before its start leaves a socket open.
    """
    task = asyncio.create_task(closing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if failure := cancelled or task.exception():
        raise failure


async def run_to_end(work: Coroutine[Any, Any, None], grace_s: Callable[[], float]) -> None:
    """Run `work` in a separate task, which has `grace_s()` seconds to end after the caller is cancelled.

    The cancellation is raised when it has ended.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await finish(_end(task, grace_s()))
        raise


async def _end(task: asyncio.Task[None], grace_s: float) -> None:
    if grace_s:
        await asyncio.wait([task], timeout=grace_s)
    await cancel_and_wait([task])


async def iterate_in_thread(items: Iterator[T], executor: Executor | None = None) -> AsyncIterator[T]:
    """Yield the items of a blocking iterator, each computed in a thread, in order. No item may be None."""
    loop = asyncio.get_running_loop()
    while (item := await loop.run_in_executor(executor, next, items, None)) is not None:
        yield item


def freeze_gc() -> None:
    """Exempt all objects so far from garbage collection. Call it when a process has loaded its libraries.

    A full collection visits every object that is not exempt, half a million after the imports of torch and Ray: a pause
    of 0.3 s at any moment.
    """
    gc.collect()
    gc.freeze()


async def give_back_memory() -> None:
    """Return freed pages to the operating system, beside the event loop.

    After a start with a hundred thousand edits the C library keeps 110 MB. Only glibc has this call.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        await asyncio.to_thread(trim, 0)
