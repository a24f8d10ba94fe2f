"""One caller cannot take a replica from the others: passes are short, callers take turns, a hang-up ends the work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch
from errata.wire import AnswerRequest

from models.memory import Views
from models.system import AnswerDelta, Ask, Bundle, Reply
from service.config import Settings
from service.ledger.embedded.server import EmbeddedValkey
from service.ledger.store import RedisLedger
from service.outcome import Outcome
from service.replicas.replica import Replica
from service.scheduling.turns import Asker
from tests.service.http.conftest import local_router
from tests.service.parts import settings, start_deployment
from tests.service.toy import FACTS, ToyMemory, ToySystem

PERU = "What is the capital of Peru?"
LONG = PERU + " " * 1_900 + "?"
CHAR_S = 20e-6  # 2,000 characters take 40 ms, as those of a real model
STRANGER, VICTIM = Asker("stranger", "1"), Asker("victim", "2")
PASS_S = 0.1  # two questions of 1,900 characters are more than a batch may have


class SlowSystem(ToySystem):
    """A system that takes time for each character and each candidate, and notes when it last worked."""

    inputs = frozenset({"candidates"})
    worked_at = 0.0

    def answer(self, asks: Sequence[Ask], views: Sequence[Views]) -> list[Reply]:
        for ask in asks:
            self._work(ask)
            for _ in ask.candidates:
                self._work(ask)
        return super().answer(asks, views)

    def answer_in_steps(self, ask: Ask, views: Views) -> Iterator[Reply | None]:
        for _ in ask.candidates:
            self._work(ask)
            yield None
        yield super().answer([ask], [views])[0]

    def stream(self, ask: Ask, views: Views) -> Iterator[AnswerDelta | Reply]:
        for delta in super().stream(ask, views):
            self._work(ask)
            yield delta

    def _work(self, ask: Ask) -> None:
        time.sleep(CHAR_S * len(ask.question))
        SlowSystem.worked_at = time.perf_counter()


def load_slow(device: torch.device, dtype: torch.dtype) -> Bundle:
    memory = ToyMemory(FACTS)
    return Bundle(SlowSystem(memory), (memory,))


@pytest.fixture
def config(valkey: EmbeddedValkey, ledger: RedisLedger, tmp_path: Path) -> Settings:
    return settings(valkey.url, tmp_path, systems={"slow": f"{__name__}:load_slow"})


@pytest.fixture
async def replica(config: Settings) -> AsyncIterator[Replica]:
    async with start_deployment(Replica, config, "slow") as replica:
        yield replica


def request(asker: Asker, question: str = LONG, **fields: Any) -> dict[str, Any]:
    return {"question": question, "asker": asker, **fields}


async def take(replica: Replica, asker: Asker, **fields: Any) -> float:
    """Return the time that a question takes."""
    start = time.perf_counter()
    outcome = await replica.answer(request(asker, PERU, **fields))
    assert outcome.status == 200
    return time.perf_counter() - start


async def seconds_of_work_after(tasks: Sequence[asyncio.Task[Any]]) -> float:
    """Return how long the system works on after its callers hung up."""
    hung_up_at = time.perf_counter()
    for task in tasks:
        task.cancel()
    await asyncio.sleep(1.0)
    return SlowSystem.worked_at - hung_up_at


FLOODS: list[dict[str, Any]] = [{}, {"candidates": ["he", "she"] * 128}]


@pytest.mark.parametrize("fields", FLOODS)
async def test_a_single_question_waits_for_one_pass_and_not_for_the_flood(
    replica: Replica, fields: dict[str, Any]
) -> None:
    flood = [asyncio.create_task(replica.answer(request(STRANGER, **fields))) for _ in range(256)]
    await asyncio.sleep(0.2)
    assert median([await take(replica, VICTIM) for _ in range(8)]) < 3 * PASS_S
    assert not any(task.done() for task in flood[64:])
    assert await seconds_of_work_after(flood) < 3 * PASS_S


@pytest.mark.parametrize("fields", FLOODS)
async def test_work_ends_when_its_asker_hangs_up(replica: Replica, fields: dict[str, Any]) -> None:
    flood = [asyncio.create_task(replica.answer(request(STRANGER, **fields)))]
    if not fields:
        flood = [asyncio.create_task(replica.answer_many([request(STRANGER)] * 256))]
    await asyncio.sleep(0.2)
    assert not flood[0].done()
    assert await seconds_of_work_after(flood) < 3 * PASS_S


async def test_the_steps_of_a_long_question_end_in_its_answer(replica: Replica) -> None:
    outcome = await replica.answer(request(STRANGER, PERU, candidates=["he", "she"] * 20))
    assert b'"answer": "Lima"' in outcome.body


async def test_a_long_question_among_several_holds_up_none_of_them(replica: Replica) -> None:
    """It is sent by itself, and answered in steps, between which the others have their turns."""
    models = local_router({"slow": replica}, max_batch=32)
    requests = [
        AnswerRequest(question=LONG, candidates=["he", "she"] * 128),
        *[AnswerRequest(question=PERU)] * 8,
    ]
    tasks = [asyncio.create_task(models.answer(models.prepare(request, STRANGER))) for request in requests]
    long, *short = tasks
    outcomes = await asyncio.wait_for(asyncio.gather(*short), 10 * PASS_S)
    assert [outcome.status for outcome in outcomes] == [200] * 8
    assert not long.done()
    long.cancel()


async def test_streams_take_turns_with_questions(replica: Replica) -> None:
    question = "Who wrote Hamlet?" + " " * 1_900 + "?"

    async def listen() -> list[bytes | Outcome]:
        return [item async for item in replica.stream(request(STRANGER, question))]

    flood = [asyncio.create_task(listen()) for _ in range(64)]
    await asyncio.sleep(0.2)
    assert median([await take(replica, VICTIM) for _ in range(8)]) < 3 * PASS_S
    assert await seconds_of_work_after(flood) < 3 * PASS_S
