"""One caller cannot take a replica from the others: passes are short, callers take turns, a hang-up ends the work."""

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
CHAR_S = 20e-6  # 2,000 characters take 40 ms, as those of a real model; time is counted in characters
STRANGER, VICTIM = Asker("stranger", "1"), Asker("victim", "2")
PASS_CHARS = 5_000  # two questions of 1,900 characters are more than a batch may have


class SlowSystem(ToySystem):
    """A system that takes time for each character and each candidate, and counts the characters."""

    inputs = frozenset({"candidates"})
    n_chars = 0

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
        SlowSystem.n_chars += len(ask.question)


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


async def take(replica: Replica, asker: Asker, **fields: Any) -> int:
    """Return how many characters the system reads until a question is answered."""
    start = SlowSystem.n_chars
    outcome = await replica.answer(request(asker, PERU, **fields))
    assert outcome.status == 200
    return SlowSystem.n_chars - start


async def count_chars_after(tasks: Sequence[asyncio.Task[Any]]) -> int:
    """Return how many characters the system reads after its callers hung up."""
    n_before = SlowSystem.n_chars
    for task in tasks:
        task.cancel()
    await asyncio.sleep(1.0)
    return SlowSystem.n_chars - n_before


FLOODS: list[dict[str, Any]] = [{}, {"candidates": ["he", "she"] * 128}]


@pytest.mark.parametrize("fields", FLOODS)
async def test_a_single_question_waits_for_one_pass_and_not_for_the_flood(
    replica: Replica, fields: dict[str, Any]
) -> None:
    flood = [asyncio.create_task(replica.answer(request(STRANGER, **fields))) for _ in range(256)]
    await asyncio.sleep(0.2)
    assert median([await take(replica, VICTIM) for _ in range(8)]) < 3 * PASS_CHARS
    assert not any(task.done() for task in flood[64:])
    assert await count_chars_after(flood) < 3 * PASS_CHARS


@pytest.mark.parametrize("fields", FLOODS)
async def test_work_ends_when_its_asker_hangs_up(replica: Replica, fields: dict[str, Any]) -> None:
    flood = [asyncio.create_task(replica.answer(request(STRANGER, **fields)))]
    if not fields:
        flood = [asyncio.create_task(replica.answer_many([request(STRANGER)] * 256))]
    await asyncio.sleep(0.2)
    assert not flood[0].done()
    assert await count_chars_after(flood) < 3 * PASS_CHARS


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
    n_before = SlowSystem.n_chars
    outcomes = await asyncio.gather(*short)
    assert SlowSystem.n_chars - n_before < 10 * PASS_CHARS
    assert [outcome.status for outcome in outcomes] == [200] * 8
    assert not long.done()
    long.cancel()


async def test_streams_take_turns_with_questions(replica: Replica) -> None:
    question = "Who wrote Hamlet?" + " " * 1_900 + "?"

    async def listen() -> list[bytes | Outcome]:
        return [item async for item in replica.stream(request(STRANGER, question))]

    flood = [asyncio.create_task(listen()) for _ in range(64)]
    await asyncio.sleep(0.2)
    assert median([await take(replica, VICTIM) for _ in range(8)]) < 3 * PASS_CHARS
    assert await count_chars_after(flood) < 3 * PASS_CHARS
