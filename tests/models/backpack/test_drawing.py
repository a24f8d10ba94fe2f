"""Answers that are drawn: seeds, stops, limits and log-probabilities, alone and in a stream."""

from collections.abc import Mapping
from typing import Any

import pytest

from models.backpack.memory import SENSES, SensesMemory, SensesView
from models.backpack.system import BackpackSystem
from models.system import AnswerDelta, Ask, Reply, SamplingOptions

QUESTION, ANSWER = "What is the capital of Peru?", "Lima, the city of kings"


@pytest.fixture(scope="module")
def base(memory: SensesMemory) -> dict[str, SensesView]:
    return {SENSES: memory.view(memory.base)}


def draw(system: BackpackSystem, views: Mapping[str, Any], **options: Any) -> Reply:
    (reply,) = system.answer([Ask(QUESTION, sampling=SamplingOptions(**options))], [views])
    return reply


def test_temperature_zero_is_the_greedy_answer(system: BackpackSystem, base: dict[str, SensesView]) -> None:
    (greedy,) = system.answer([Ask(QUESTION)], [base])
    reply = draw(system, base)
    assert (reply.answer, reply.best, reply.score) == (greedy.best, greedy.best, pytest.approx(greedy.score))
    assert reply.finish == "length", "random weights do not end their lines"


def test_a_seed_is_a_draw(system: BackpackSystem, base: dict[str, SensesView]) -> None:
    first = [draw(system, base, temperature=1.5, seed=seed, max_tokens=12).answer for seed in range(4)]
    again = [draw(system, base, temperature=1.5, seed=seed, max_tokens=12).answer for seed in range(4)]
    assert first == again
    assert len(set(first)) > 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_stop_ends_the_answer_and_is_not_part_of_it(
    system: BackpackSystem, base: dict[str, SensesView], seed: int
) -> None:
    options: dict[str, Any] = {"temperature": 1.2, "seed": seed, "max_tokens": 24}
    whole = draw(system, base, **options).answer
    assert whole is not None
    stop = whole[len(whole) // 2 : len(whole) // 2 + 3]
    reply = draw(system, base, **options, stop=(stop,), logprobs=0)
    assert (reply.answer or "") == whole[: whole.index(stop)].rstrip()
    assert reply.finish == "stop"
    assert len(reply.tokens) < 24


def test_a_stream_has_the_drawn_answer_and_never_more(
    system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    options: dict[str, Any] = {"temperature": 1.2, "seed": 2, "max_tokens": 24}
    whole = draw(system, base, **options).answer
    assert whole is not None
    sampling = SamplingOptions(**options, stop=(whole[10:14],))
    *deltas, reply = system.stream(Ask(QUESTION, sampling=sampling), base)
    assert isinstance(reply, Reply)
    texts = [delta.text for delta in deltas if isinstance(delta, AnswerDelta)]
    assert len(texts) > 1
    assert "".join(texts) == (reply.answer or "")
