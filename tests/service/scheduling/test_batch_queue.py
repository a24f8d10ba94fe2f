"""Items that wait together are processed together, and none waits for a stranger's failure."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from service.errors import NotReady, TooMany
from service.scheduling.batch_queue import REQUEUE, BatchQueue
from service.scheduling.turns import Asker
from tests.service.parts import run_ready


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


STRANGER, VICTIM = Asker("stranger", "1"), Asker("victim", "2")


async def test_a_single_question_is_in_the_batch_after_the_one_under_way(processor: Processor) -> None:
    queue = BatchQueue[int, int](processor.process, max_batch=32, defer=True)
    flood = [asyncio.create_task(queue.submit(number, STRANGER, 20)) for number in range(256)]
    await run_ready()
    single = asyncio.create_task(queue.submit(999, VICTIM))
    await run_ready()
    processor.gate.set()
    assert await single == 999
    assert [999 in batch for batch in processor.batches[:3]].index(True) <= 2
    for task in flood:
        task.cancel()


async def test_an_item_that_needs_another_turn_waits_for_it_behind_the_others() -> None:
    batches: list[list[int]] = []

    async def process(items: Sequence[int]) -> Sequence[Any]:
        batches.append(list(items))
        return [REQUEUE if item == 0 and len(batches) < 4 else item for item in items]

    queue = BatchQueue[int, int](process, max_batch=32, defer=True)
    long = asyncio.create_task(queue.submit(0, STRANGER, 100))
    await asyncio.sleep(0)
    assert await asyncio.gather(*(queue.submit(number, VICTIM) for number in (1, 2))) == [1, 2]
    assert not long.done()
    assert await long == 0
    assert [batch for batch in batches if batch != [0]] == [[1, 2]]


async def test_who_takes_steps_leaves_others_most_of_the_time_and_ends_all_the_same() -> None:
    steps, step_s = 10, 0.02
    n_long = 0

    async def process(items: Sequence[int]) -> Sequence[Any]:
        nonlocal n_long
        if items != [0]:
            return items
        await asyncio.sleep(step_s)
        n_long += 1
        return [REQUEUE if n_long < steps else 0]

    queue = BatchQueue[int, int](process, max_batch=32, rest=2.0)
    loop = asyncio.get_running_loop()
    await queue.submit(1, VICTIM)
    start = loop.time()
    long = asyncio.create_task(queue.submit(0, STRANGER, 100))
    n_short = 0
    while not long.done():
        n_short += await queue.submit(1, VICTIM)
        await asyncio.sleep(step_s / 4)
    assert n_long == steps
    assert loop.time() - start >= 2 * steps * step_s
    assert n_short > 2 * steps


async def test_a_caller_of_long_items_leaves_others_most_of_the_time() -> None:
    pass_s = 0.02
    batches: list[list[int]] = []

    async def process(items: Sequence[int]) -> Sequence[Any]:
        batches.append(list(items))
        await asyncio.sleep(pass_s)
        return items

    queue = BatchQueue[int, int](process, max_batch=32, rest=2.0)
    await queue.submit(1, VICTIM)
    long = [asyncio.create_task(queue.submit(0, STRANGER, 20)) for _ in range(20)]
    while (n_long := sum(0 in batch for batch in batches)) < 5:
        await queue.submit(1, VICTIM)
        await asyncio.sleep(pass_s / 4)
    for task in long:
        task.cancel()
    assert n_long <= len(batches) // 2


async def test_an_item_that_nobody_waits_for_has_no_further_turn() -> None:
    turns = 0

    async def process(items: Sequence[int]) -> Sequence[Any]:
        nonlocal turns
        turns += 1
        await asyncio.sleep(0)
        return [REQUEUE for _ in items]

    queue = BatchQueue[int, int](process, max_batch=4)
    task = asyncio.create_task(queue.submit(0))
    await run_ready()
    task.cancel()
    await run_ready()
    count = turns
    await run_ready()
    assert 1 < turns == count


async def test_a_caller_who_fills_the_queue_is_refused_and_another_is_not(processor: Processor) -> None:
    queue = BatchQueue[int, int](processor.process, max_batch=1, capacity=8)
    flood = [asyncio.create_task(queue.submit(number, STRANGER)) for number in range(9)]
    await asyncio.sleep(0)
    with pytest.raises(TooMany, match="8 questions wait"):
        await queue.submit(10, STRANGER)
    single = asyncio.create_task(queue.submit(11, VICTIM))
    await asyncio.sleep(0)
    processor.gate.set()
    assert await single == 11
    await asyncio.gather(*flood)


async def test_who_hangs_up_while_waiting_makes_room(processor: Processor) -> None:
    queue = BatchQueue[int, int](processor.process, max_batch=1, capacity=2)
    tasks = [asyncio.create_task(queue.submit(number)) for number in range(3)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.sleep(0)
    last = asyncio.create_task(queue.submit(3))
    await asyncio.sleep(0)
    processor.gate.set()
    assert await last == 3
    assert [2] not in processor.batches
