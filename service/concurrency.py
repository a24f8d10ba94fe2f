"""Tasks that end as they should: cancelled, to their end, or beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")

CANCEL_EVERY_S = 0.2


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
