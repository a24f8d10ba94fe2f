"""The few patterns of asyncio, threads and garbage collection that every part of the service shares."""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass
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


def trim_heap() -> None:
    """Return freed pages to the operating system. Only glibc has this call.

    After a load of weights the C library keeps 60 to 200 MB, after a start with a hundred thousand edits 110.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


async def give_back_memory() -> None:
    """Return freed pages to the operating system, beside the event loop."""
    await asyncio.to_thread(trim_heap)
