"""Greedy is the argmax, batches and caches change nothing, each text has its own edits, and bad input is named."""

import random

import pytest
import torch

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
from models.backpack.network import Backpack
from models.backpack.reader import choice_features
from models.kit.decoded import DecodedAnswer
from tests.models.backpack.conftest import CONFIG
from tests.models.backpack.scoring import score_continuation

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
