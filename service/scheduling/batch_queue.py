"""Collects single items into batches: the more items wait, the larger the next batch; a lone item leaves at once.

The ingress sends questions that arrive together across a Ray handle in one call (a call between processes costs more
than an answer), and a replica answers them in one forward pass. There is no waiting time to tune. Ray's `serve.batch`
needs a cluster around it, fails a whole batch for one item, and in the pinned version can hang for good after an
error (ray#66140).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Any, Generic, TypeVar

from service.errors import NotReady, TooMany
from service.scheduling.turns import Asker, Turns

Item = TypeVar("Item")
Result = TypeVar("Result")

NO_ASKER = Asker()
REST_CHECK_S = 0.005  # interval at which a queue whose callers all rest is checked
TURNS_PER_BATCH = 4  # fewer turns give more answers a second, more turns shorter waits


class Requeue(Enum):
    """Stands in place of a result for an item that waits for another turn."""

    REQUEUE = "requeue"


REQUEUE = Requeue.REQUEUE


@dataclass(eq=False)
class Entry(Generic[Item, Result]):
    """A waiting item, and the future of its result."""

    item: Item
    future: asyncio.Future[Result]
    asker: Asker
    work: int


class BatchQueue(Generic[Item, Result]):
    """Items wait while `max_running` batches run; when one ends, askers have their turn in the next.

    Args:
        process: Computes the results of one batch, in order. An exception in place of a result fails its item alone;
            an exception that is raised fails the whole batch.
        max_batch: Work in one batch; the number of items, if each has the work 1.
        max_running: Batches under way at once.
        capacity: Items that may wait before further ones are refused, first those of callers with more than their
            share; None for any number.
        defer: Whether a batch is taken one turn of the event loop later, so that items of the same turn share it.
        on_length: Receives the number of waiting items whenever it changes.
        rest: Factor of a rest: the caller of an item that is queued again, or has more work than a turn, lets others
            go first for this factor times the duration of the batch.
    """

    def __init__(
        self,
        process: Callable[[Sequence[Item]], Awaitable[Sequence[Result | Exception | Requeue]]],
        max_batch: int,
        max_running: int = 1,
        capacity: int | None = None,
        defer: bool = False,
        on_length: Callable[[int], object] = lambda length: None,
        rest: float = 0.0,
    ) -> None:
        self._process, self._max_batch, self._max_running = process, max_batch, max_running
        self._capacity, self._defer, self._on_length = capacity, defer, on_length
        self._turn = max(1, max_batch // TURNS_PER_BATCH)
        self._waiting: Turns[Entry[Item, Result]] = Turns(self._turn)
        self._running: dict[asyncio.Task[None], Sequence[Entry[Item, Result]]] = {}
        self._rest = rest
        self._rest_timer: asyncio.TimerHandle | None = None

    async def submit(self, item: Item, asker: Asker = NO_ASKER, work: int = 1) -> Result:
        """Wait for the item's result.

        Args:
            asker: Caller and request that take turns with others.
            work: Share of a batch that it takes. An item with more than a whole batch is alone in its batch.

        Raises:
            TooMany: `capacity` items wait already.
            NotReady: The batch was cancelled.
        """
        self._check_capacity(asker.caller)
        loop = asyncio.get_running_loop()
        entry: Entry[Item, Result] = Entry(item, loop.create_future(), asker, min(work, self._max_batch))
        self._waiting.add(entry)
        if self._defer:
            loop.call_soon(self._start_batches)
        else:
            self._start_batches()
        try:
            return await entry.future
        except asyncio.CancelledError:
            self._waiting.discard(entry)
            raise

    def _check_capacity(self, caller: str) -> None:
        n_waiting, n_own = len(self._waiting), self._waiting.count(caller)
        if self._capacity is None or n_waiting < self._capacity:
            return
        if n_own >= self._capacity // (self._waiting.n_callers + (n_own == 0)):
            raise TooMany(f"{n_waiting} questions wait for this model already: try again in a moment")

    def _start_batches(self, _: Any = None) -> None:
        while self._waiting and len(self._running) < self._max_running:
            running = list(chain.from_iterable(self._running.values()))
            batch = self._waiting.take(self._max_batch, running, (self._max_running + 1) // 2)
            if not batch:  # the callers rest, or have a batch under way and room is kept for others
                if not self._running and self._rest_timer is None:
                    self._rest_timer = asyncio.get_running_loop().call_later(REST_CHECK_S, self._end_rest)
                break
            task = asyncio.create_task(self._run(batch))
            self._running[task] = batch
            task.add_done_callback(self._running.pop)
            task.add_done_callback(self._start_batches)
        self._on_length(len(self._waiting))

    def _end_rest(self) -> None:
        self._rest_timer = None
        self._start_batches()

    async def _run(self, batch: Sequence[Entry[Item, Result]]) -> None:
        """Settle every future of the batch, whatever `process` does."""
        batch = [
            entry for entry in batch if not entry.future.done()
        ]  # the callers of the other entries hung up
        failure: Exception = NotReady("the call to the model was given up: try again in a moment")
        requeue: list[Entry[Item, Result]] = []
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            results = await self._process([entry.item for entry in batch]) if batch else []
            for entry, result in zip(batch, results, strict=True):
                if isinstance(result, Requeue):
                    requeue.append(entry)
                else:
                    settle(entry.future, result)
        except Exception as error:  # the callers of the batch get the error
            failure, requeue = error, []
        finally:
            self._waiting.expect(batch)
            for entry in batch:
                if entry not in requeue:
                    settle(entry.future, failure)
                elif not entry.future.done():
                    self._waiting.add(entry)
                if self._rest and (entry in requeue or entry.work > self._turn):
                    self._waiting.rest(entry.asker, self._rest * (loop.time() - start))


def settle(future: asyncio.Future[Result], result: Result | Exception) -> None:
    """Set the result unless there is one, or the caller hung up meanwhile."""
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
