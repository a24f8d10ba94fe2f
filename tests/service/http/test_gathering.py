"""Questions that arrive together cross the handle together, and none waits for a stranger's failure."""

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest
from prometheus_client import REGISTRY

from service.errors import NotReady, TooMany
from service.http.gathering import Gathering
from service.replicas.outcome import Outcome

WHOSE: ContextVar[str] = ContextVar("whose", default="nobody's")


class Slow:
    """A deployment that answers when it is let, and remembers how it was called."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []
        self.let = asyncio.Event()
        self.failure: BaseException | None = None
        self.whose: list[str] = []

    async def call(self, method: str, *args: Any, limit_s: float) -> Any:
        assert method == "answer_many"
        self.calls.append(args[0])
        self.whose.append(WHOSE.get())
        await self.let.wait()
        if self.failure:
            raise self.failure
        return [Outcome(200, str(question["n"]).encode()) for question in args[0]]


def gathering(callee: Slow, lanes: int = 1, most: int = 4, room: int = 8) -> Gathering:
    return Gathering("toy", callee, lanes, most, room, 5.0)


async def asked(gather: Gathering, count: int) -> list[asyncio.Task[Outcome]]:
    tasks = [asyncio.create_task(gather.ask({"n": n})) for n in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_a_lone_question_leaves_at_once() -> None:
    callee = Slow()
    await asked(gathering(callee), 1)
    await asyncio.sleep(0)
    assert callee.calls == [[{"n": 0}]]
    callee.let.set()


async def test_those_that_wait_leave_together_and_each_gets_its_own_answer() -> None:
    callee = Slow()
    tasks = await asked(gathering(callee), 6)
    await asyncio.sleep(0)
    callee.let.set()
    answers = [outcome.body for outcome in await asyncio.gather(*tasks)]
    assert answers == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert [len(call) for call in callee.calls] == [1, 4, 1]


async def test_a_failed_call_fails_its_own_questions_only() -> None:
    callee = Slow()
    gather = gathering(callee)
    first = await asked(gather, 1)
    callee.failure = NotReady("the replica is gone")
    callee.let.set()
    with pytest.raises(NotReady):
        await first[0]
    callee.failure = None
    assert (await gather.ask({"n": 7})).body == b"7"


async def test_who_hangs_up_is_not_asked_for() -> None:
    callee = Slow()
    gather = gathering(callee)
    tasks = await asked(gather, 3)
    tasks[1].cancel()
    callee.let.set()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(done[1], asyncio.CancelledError)
    assert callee.calls[1] == [{"n": 2}]
    assert isinstance(done[2], Outcome)
    assert done[2].body == b"2"


async def test_when_there_is_no_room_the_next_one_is_turned_away() -> None:
    callee = Slow()
    gather = gathering(callee, room=2)
    tasks = await asked(gather, 3)
    with pytest.raises(TooMany, match="2 questions wait"):
        await gather.ask({"n": 9})
    waiting = {"model": "toy", "place": "ingress"}
    assert REGISTRY.get_sample_value("errata_queue_questions", waiting) == 2
    callee.let.set()
    assert len(await asyncio.gather(*tasks)) == 3


async def test_a_call_belongs_to_none_of_those_who_ask() -> None:
    callee = Slow()
    gather = gathering(callee)

    async def ask(number: int) -> Outcome:
        WHOSE.set(f"request {number}")
        return await gather.ask({"n": number})

    tasks = [asyncio.create_task(ask(number)) for number in range(3)]
    await asyncio.sleep(0)
    callee.let.set()
    await asyncio.gather(*tasks)
    assert callee.whose == ["nobody's", "nobody's"]


async def test_a_call_that_is_cancelled_leaves_nobody_waiting() -> None:
    callee = Slow()
    gather = gathering(callee)
    callee.failure = asyncio.CancelledError()
    callee.let.set()
    with pytest.raises(NotReady, match="given up"):
        await asyncio.wait_for(gather.ask({"n": 0}), 2)
    callee.failure = None
    assert (await gather.ask({"n": 1})).body == b"1"


async def test_a_replica_that_answers_too_few_leaves_nobody_waiting() -> None:
    callee = Slow()
    gather = gathering(callee, most=2)
    tasks = await asked(gather, 3)
    callee.call = _one_answer  # type: ignore[method-assign]
    callee.let.set()
    done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2)
    assert [type(one) for one in done] == [Outcome, Outcome, ValueError]


async def _one_answer(method: str, *args: Any, limit_s: float) -> list[Outcome]:
    return [Outcome(200, b"0")]
