"""Items that wait together are processed together, and none waits for a stranger's failure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from service.batch_queue import BatchQueue
from service.errors import NotReady, TooMany


class Processor:
    """Returns the items once the gate is open, and records its batches."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.failure: BaseException | None = None
        self.results: list[Any] | None = None

    async def process(self, items: Sequence[int]) -> Sequence[Any]:
        self.batches.append(list(items))
        await self.gate.wait()
        if self.failure:
            raise self.failure
        return items if self.results is None else self.results


@pytest.fixture
def processor() -> Processor:
    return Processor()


@pytest.fixture
def queue(processor: Processor) -> BatchQueue[int, int]:
    return BatchQueue(processor.process, max_batch=4, capacity=8)


async def submit(queue: BatchQueue[int, int], count: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(queue.submit(number)) for number in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_a_lone_item_leaves_at_once(processor: Processor, queue: BatchQueue[int, int]) -> None:
    tasks = await submit(queue, 1)
    await asyncio.sleep(0)
    assert processor.batches == [[0]]
    processor.gate.set()
    await asyncio.gather(*tasks)


async def test_items_that_wait_leave_together_and_each_gets_its_own_result(
    processor: Processor, queue: BatchQueue[int, int]
) -> None:
    tasks = await submit(queue, 6)
    await asyncio.sleep(0)
    processor.gate.set()
    assert await asyncio.gather(*tasks) == [0, 1, 2, 3, 4, 5]
    assert [len(batch) for batch in processor.batches] == [1, 4, 1]


async def test_items_of_one_turn_share_a_batch_that_is_deferred(processor: Processor) -> None:
    queue = BatchQueue(processor.process, max_batch=4, defer=True)
    processor.gate.set()
    assert await asyncio.gather(*(queue.submit(number) for number in range(6))) == [0, 1, 2, 3, 4, 5]
    assert processor.batches == [[0, 1, 2, 3], [4, 5]]


async def test_batches_run_side_by_side_up_to_their_maximum(processor: Processor) -> None:
    queue = BatchQueue(processor.process, max_batch=4, max_running=2)
    tasks = await submit(queue, 4)
    await asyncio.sleep(0)
    assert processor.batches == [[0], [1]]
    processor.gate.set()
    await asyncio.gather(*tasks)
    assert processor.batches == [[0], [1], [2, 3]]


async def test_a_batch_that_fails_fails_its_own_items_only(
    processor: Processor, queue: BatchQueue[int, int]
) -> None:
    [task] = await submit(queue, 1)
    processor.failure = NotReady("the replica is gone")
    processor.gate.set()
    with pytest.raises(NotReady):
        await task
    processor.failure = None
    assert await queue.submit(7) == 7


async def test_an_exception_as_a_result_fails_one_item(processor: Processor) -> None:
    processor.results = [1, NotReady("this one"), 3]
    queue = BatchQueue[int, int](processor.process, max_batch=3, defer=True)
    tasks = await submit(queue, 3)
    processor.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [int, NotReady, int]


async def test_a_caller_who_hung_up_takes_no_place_in_a_batch(
    processor: Processor, queue: BatchQueue[int, int]
) -> None:
    tasks = await submit(queue, 3)
    tasks[1].cancel()
    processor.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[1], asyncio.CancelledError)
    assert (processor.batches[1], results[2]) == ([2], 2)


async def test_when_there_is_no_room_the_next_item_is_refused(processor: Processor) -> None:
    lengths: list[int] = []
    queue = BatchQueue(processor.process, max_batch=4, capacity=2, on_length=lengths.append)
    tasks = await submit(queue, 3)
    with pytest.raises(TooMany, match="2 questions wait"):
        await queue.submit(9)
    assert lengths == [0, 1, 2]
    processor.gate.set()
    assert len(await asyncio.gather(*tasks)) == 3


async def test_a_batch_that_is_cancelled_leaves_nobody_waiting(
    processor: Processor, queue: BatchQueue[int, int]
) -> None:
    processor.failure = asyncio.CancelledError()
    processor.gate.set()
    with pytest.raises(NotReady, match="given up"):
        await asyncio.wait_for(queue.submit(0), 2)
    processor.failure = None
    assert await queue.submit(1) == 1


async def test_too_few_results_leave_nobody_waiting(
    processor: Processor, queue: BatchQueue[int, int]
) -> None:
    tasks = await submit(queue, 3)
    processor.results = [0]
    processor.gate.set()
    results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2)
    assert [type(result) for result in results] == [int, int, ValueError]
