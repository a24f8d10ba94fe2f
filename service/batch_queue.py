"""Collects single items into batches: the more that wait, the larger the next batch, and a lone item waits for nobody.

Used twice: the ingress sends questions that arrive together across a Ray handle in one call (a call between processes
costs more than an answer), and a replica answers them in one forward pass. There is no waiting time to tune. Ray's own
`serve.batch` needs a cluster around it, fails a whole batch for one item, and in the pinned version can hang for good
after an error of its own (ray#66140).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from service.errors import NotReady, TooMany

Item = TypeVar("Item")
Result = TypeVar("Result")


class BatchQueue(Generic[Item, Result]):
    """Items wait while `max_running` batches run; whatever waits when one ends makes up the next batch.

    Args:
        process: Computes the results of one batch, in order. An exception in place of a result fails its item alone;
            an exception that is raised fails the whole batch.
        max_batch: Items in one batch.
        max_running: Batches under way at once.
        capacity: Items that may wait before further ones are refused; None for any number.
        defer: Take a batch one turn of the event loop later, so that items submitted in the same turn share it.
        on_length: Called with the number of waiting items whenever it changes.
    """

    def __init__(
        self,
        process: Callable[[Sequence[Item]], Awaitable[Sequence[Result | Exception]]],
        max_batch: int,
        max_running: int = 1,
        capacity: int | None = None,
        defer: bool = False,
        on_length: Callable[[int], object] = lambda length: None,
    ) -> None:
        self._process, self._max_batch, self._max_running = process, max_batch, max_running
        self._capacity, self._defer, self._on_length = capacity, defer, on_length
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._running: set[asyncio.Task[None]] = set()

    async def submit(self, item: Item) -> Result:
        """Wait for the item's result.

        Raises:
            TooMany: `capacity` items wait already.
            NotReady: the batch was cancelled.
        """
        if self._capacity is not None and len(self._waiting) >= self._capacity:
            raise TooMany(
                f"{len(self._waiting)} questions wait for this model already: try again in a moment"
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((item, future))
        if self._defer:
            loop.call_soon(self._start_batches)
        else:
            self._start_batches()
        return await future

    def _start_batches(self, _: Any = None) -> None:
        while self._waiting and len(self._running) < self._max_running:
            batch, self._waiting = self._waiting[: self._max_batch], self._waiting[self._max_batch :]
            task = asyncio.create_task(self._run(batch))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            task.add_done_callback(self._start_batches)
        self._on_length(len(self._waiting))

    async def _run(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        """Settle every future of the batch, whatever `process` does."""
        batch = [(item, future) for item, future in batch if not future.done()]  # the others hung up
        failure: Exception = NotReady("the call to the model was given up: try again in a moment")
        try:
            results = await self._process([item for item, _ in batch]) if batch else []
            for (_, future), result in zip(batch, results, strict=True):
                settle(future, result)
        except Exception as error:  # it belongs to those who wait
            failure = error
        finally:
            for _, future in batch:
                settle(future, failure)


def settle(future: asyncio.Future[Result], result: Result | Exception) -> None:
    """Set the result unless there is one, or the caller hung up meanwhile."""
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
