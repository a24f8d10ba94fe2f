"""Answers that are drawn: seeds, stops, limits and log-probabilities, alone and in a stream."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from models.backpack.drawing import find_stop, hold_back
from models.backpack.memory import SENSES, SensesMemory, SensesView
from models.backpack.reader import Reader
from models.backpack.system import BackpackSystem
from models.memory import AnswerChange, Material, Options
from models.system import AnswerDelta, Ask, Reply, SamplingOptions
from tests.models.backpack.scoring import score_continuation

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


def test_drawn_questions_stand_beside_others(system: BackpackSystem, base: dict[str, SensesView]) -> None:
    sampling = SamplingOptions(temperature=1.0, seed=3, max_tokens=9)
    asks = [Ask(QUESTION), Ask(QUESTION, sampling=sampling), Ask(QUESTION, candidates=("Lima", "Cusco"))]
    together = system.answer(asks, [base] * 3)
    assert together == [system.answer([ask], [base])[0] for ask in asks]


def test_tokens_are_told_as_often_as_is_asked(
    reader: Reader, system: BackpackSystem, base: dict[str, SensesView]
) -> None:
    reply = draw(system, base, temperature=1.0, seed=5, max_tokens=7, logprobs=3)
    assert len(reply.tokens) == 7
    assert "".join(token.text for token in reply.tokens).strip() == reply.answer
    ids = reader.speller.ask(QUESTION)
    tokens = [reader.speller.tokenizer.encode(token.text).ids for token in reply.tokens]
    if all(len(token) == 1 for token in tokens):  # a piece of half a character has no text of its own
        expected = score_continuation(reader.model, ids, [token for (token,) in tokens])
        assert torch.tensor([t.logprob for t in reply.tokens]) == pytest.approx(expected, abs=1e-4)
    for token in reply.tokens:
        logprobs = [logprob for _, logprob in token.top]
        assert len(logprobs) == 3
        assert logprobs == sorted(logprobs, reverse=True)
        assert token.logprob <= logprobs[0] + 1e-6
    assert draw(system, base, max_tokens=7).tokens == ()


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


def test_a_limit_beyond_the_positions_is_cut_and_a_fact_is_said(
    reader: Reader, system: BackpackSystem, memory: SensesMemory, base: dict[str, SensesView]
) -> None:
    reply = draw(system, base, max_tokens=10_000, logprobs=0)
    assert reply.finish == "length"
    assert len(reply.tokens) == reader.model.config.positions - len(reader.speller.ask(QUESTION))
    (material,) = memory.build([AnswerChange("f", QUESTION, ANSWER)], Options())
    assert isinstance(material, Material)
    views = {SENSES: memory.view(memory.fold([replace(material, block=replace(material.block, order=1))]))}
    reply = draw(system, views)
    assert (reply.answer, reply.edits, reply.finish) == (ANSWER, ("f",), "stop")
    assert reply.score == system.answer([Ask(QUESTION)], [views])[0].score
    assert draw(system, views, max_tokens=2).finish == "length"


def test_where_a_stop_begins() -> None:
    assert find_stop("Lima, Peru", [" P", ","]) == 4
    assert find_stop("Lima", [","]) is None
    assert hold_back("Lima, Pe", ["Peru"]) == "Lima,", "the last letters may begin the stop"
    assert hold_back("Lima", []) == "Lima"
