"""Greedy is the argmax, batches and caches change nothing, each text has its own edits, and bad input is named.

Answers that are drawn: seeds, stops, limits and log-probabilities, alone and in a stream.
A question and its answer are spelled as the training text has them, in any script.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.backpack.drawing import find_stop, hold_back
from models.backpack.editing.rows import TextEdits, solve
from models.backpack.generate import (
    TOO_LONG,
    Completion,
    NotFinite,
    Task,
    complete,
    draw_from,
    rank,
    score_candidates,
)
from models.backpack.memory import SENSES, SensesMemory, SensesView
from models.backpack.network import Backpack
from models.backpack.reader import Reader
from models.backpack.scales import choice_features
from models.backpack.speller import Speller, write_exchange
from models.backpack.system import BackpackSystem
from models.kit.decoded import DecodedAnswer
from models.memory import AnswerChange, Material, Options
from models.system import AnswerDelta, Ask, Reply, SamplingOptions
from tests.models.backpack.conftest import CONFIG
from tests.models.backpack.tiny import score_continuation

PROMPTS = [[1, 7, 3], [4, 4, 9, 20, 6], [2], []]
STOP, LIMIT = 36, 8


def say(
    backpack: Backpack, prompt: list[int], temperature: float, top_p: float = 1.0, seed: int = 0
) -> DecodedAnswer:
    draw = draw_from(temperature, top_p, torch.Generator().manual_seed(seed))
    completion = Completion(backpack, [Task(prompt, LIMIT)], STOP, draw)
    while completion.advance():
        pass
    return completion.answers[0]


def test_a_greedy_completion_says_the_likeliest_word_each_time(backpack: Backpack) -> None:
    answers = complete(backpack, [Task(prompt, LIMIT) for prompt in PROMPTS], STOP)
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        ids = list(prompt) or [CONFIG.end]
        for token in answer.tokens:
            logits = backpack.mask_padding(backpack(torch.tensor([ids])).logits[0, -1])
            assert token == int(logits.argmax())
            ids.append(token)
        assert answer.finished is (len(answer.tokens) < LIMIT)


def test_log_probabilities_are_those_of_the_continuation(backpack: Backpack) -> None:
    (answer,) = complete(backpack, [Task(PROMPTS[0], LIMIT)], STOP)
    scores = score_continuation(backpack, PROMPTS[0], answer.tokens)
    assert list(answer.logprobs[: len(answer.tokens)]) == pytest.approx(scores.tolist(), abs=1e-5)


def test_a_seed_gives_the_same_draws(backpack: Backpack) -> None:
    draws = [say(backpack, PROMPTS[0], 1.0, seed=seed).tokens for seed in (4, 4, 5)]
    assert draws[0] == draws[1] != draws[2]


def test_a_small_top_p_and_the_temperature_zero_are_greedy(backpack: Backpack) -> None:
    (greedy,) = complete(backpack, [Task(PROMPTS[0], LIMIT)], STOP)
    assert say(backpack, PROMPTS[0], 1.0, top_p=1e-6).tokens == greedy.tokens
    assert say(backpack, PROMPTS[0], 0.0) == greedy


def test_a_long_prompt_keeps_its_end(backpack: Backpack) -> None:
    prompt = [1 + place % 30 for place in range(60)]
    tasks = [Task(prompt, 1), Task(prompt[-CONFIG.positions :], 1)]
    first, second = complete(backpack, tasks, STOP)
    assert first == second


@pytest.mark.parametrize(
    ("prompts", "message"),
    [([], "no prompt"), ([[CONFIG.words]], "stands for no text"), ([[-1]], "stands for no text")],
)
def test_a_bad_prompt_is_refused(backpack: Backpack, prompts: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        complete(backpack, [Task(prompt, LIMIT) for prompt in prompts], STOP)


def test_nothing_is_said_from_logits_that_are_not_finite(backpack: Backpack) -> None:
    broken = Backpack(CONFIG)
    broken.load_state_dict(backpack.state_dict())
    with torch.no_grad():
        broken.sense_network.final_mlp.c_proj.bias[0] = float("nan")
    with pytest.raises(NotFinite):
        complete(broken, [Task([5], LIMIT)], STOP)


def test_branches_begin_with_the_next_best_tokens(backpack: Backpack) -> None:
    (answer,) = complete(backpack, [Task(PROMPTS[0], LIMIT, branches=3)], STOP)
    top = backpack.mask_padding(backpack(torch.tensor([PROMPTS[0]])).logits[0, -1]).topk(3).indices.tolist()
    firsts = [branch.tokens[0] if branch.tokens else STOP for branch in (answer, *answer.alternatives)]
    assert firsts == [token if token not in (STOP, backpack.config.end) else STOP for token in top]
    (alone,) = complete(backpack, [Task(PROMPTS[0], LIMIT)], STOP)
    assert answer.tokens == alone.tokens


def test_each_text_of_a_batch_has_its_own_edits(backpack: Backpack) -> None:
    answer = [11, 12, STOP]
    edits = TextEdits(rows=solve(backpack, [PROMPTS[1]], answer).rows)
    tasks = [Task(PROMPTS[0], LIMIT), Task(PROMPTS[1], LIMIT, edits=edits), Task(PROMPTS[1], LIMIT)]
    first, of_fact, base = complete(backpack, tasks, STOP)
    (alone,) = complete(backpack, [tasks[0]], STOP)
    assert of_fact.tokens == (11, 12)
    assert first.tokens == alone.tokens
    assert base.tokens != of_fact.tokens


@pytest.mark.parametrize("is_edited", [False, True])
def test_candidates_of_all_lengths_are_scored_together_as_each_alone(
    backpack: Backpack, is_edited: bool
) -> None:
    rng = random.Random(4)
    prompt = [rng.randrange(1, 30) for _ in range(8)]
    candidates = [[*(rng.randrange(30) for _ in range(rng.randrange(14))), STOP] for _ in range(70)]
    longest = [*(rng.randrange(30) for _ in range(18)), STOP]  # leaves room for five tokens of the prompt
    edits = TextEdits(rows=solve(backpack, [prompt], [11, STOP]).rows) if is_edited else None
    scores = score_candidates(backpack, prompt, [*candidates, longest], edits)
    for candidate, score in zip(candidates, scores[:-1], strict=True):
        alone = score_continuation(backpack, prompt, candidate, edits)
        assert score == pytest.approx(float(alone.sum()), abs=1e-3)
    alone = score_continuation(backpack, prompt[-5:], longest, edits)
    assert scores[-1] == pytest.approx(float(alone.sum()), abs=1e-3)


def test_a_candidate_is_scored_as_a_whole(backpack: Backpack) -> None:
    candidates = [[5, STOP], [9, 8, STOP], [1] * 30]
    scores = score_candidates(backpack, PROMPTS[0], candidates)
    for score, candidate in zip(scores[:2], candidates[:2], strict=True):
        assert score == pytest.approx(
            float(score_continuation(backpack, PROMPTS[0], candidate).sum()), abs=1e-4
        )
    assert scores[2] == TOO_LONG
    assert rank(scores)[-1] == 2


def test_the_lead_of_the_best_candidate_is_its_log_odds() -> None:
    (even,) = choice_features([-3.0, -3.0])
    (sure,) = choice_features([-1.0, -50.0])
    assert even == pytest.approx(0)
    assert sure > 10


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


answers = st.text(
    st.characters(exclude_characters="\n", exclude_categories=("Cs", "Zs", "Zl", "Zp", "Cc")), min_size=1
)


@pytest.fixture(scope="module")
def speller(reader: Reader) -> Speller:
    return reader.speller


@given(answer=answers)
def test_prompt_and_answer_are_the_tokens_of_the_exchange(speller: Speller, answer: str) -> None:
    question = "Where  is\nLima?"
    parts = [*speller.ask(question), *speller.answer(answer)]
    assert speller.read(parts) == write_exchange(question, answer) == f"Q: Where is Lima?\nA: {answer}\n"
    assert speller.say(speller.answer(answer)) == answer


@given(answer=answers)
def test_what_is_settled_never_changes(speller: Speller, answer: str) -> None:
    tokens = speller.answer(answer)[:-1]
    texts = [speller.settle(tokens[:count]) for count in range(len(tokens) + 1)]
    for earlier, later in zip(texts, [*texts[1:], answer], strict=True):
        assert later.startswith(earlier)


def test_a_quoted_end_token_is_plain_text(speller: Speller, reader: Reader) -> None:
    tokens = speller.ask("What does <|end|> mean?")
    assert reader.model.config.end not in tokens
    assert speller.read(tokens) == "Q: What does <|end|> mean?\nA:"
