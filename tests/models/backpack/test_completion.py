"""Completions are those of plain generation, each text under its own edits; candidates are scored as wholes."""

import random

import pytest
import torch

from models.backpack.answering.candidates import TOO_LONG, rank, score_candidates
from models.backpack.answering.completion import Task, complete
from models.backpack.answering.confidence import choice_features
from models.backpack.editing.rows import TextEdits, solve
from models.backpack.generate import Sampling, generate, score_continuation
from models.backpack.network import Backpack

PROMPTS = [[1, 7, 3], [4, 4, 9, 20, 6], [2]]
STOP, LIMIT = 36, 8


def test_a_completion_is_what_greedy_generation_says(backpack: Backpack) -> None:
    answers = complete(backpack, [Task(prompt, LIMIT) for prompt in PROMPTS], STOP)
    steps = list(generate(backpack, PROMPTS, Sampling(LIMIT)))
    for row, answer in enumerate(answers):
        tokens = [int(step.ids[row]) for step in steps]
        ends = [place for place, token in enumerate(tokens) if token in (STOP, backpack.config.end)]
        assert list(answer.tokens) == tokens[: ends[0] if ends else LIMIT]
        assert answer.finished is bool(ends)
        logprobs = [float(step.log_probabilities[row]) for step in steps[: len(answer.logprobs)]]
        assert list(answer.logprobs) == pytest.approx(logprobs, abs=1e-4)


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
    order, shares = rank(scores)
    assert order[-1] == 2
    assert sum(shares) == pytest.approx(1)


def test_the_lead_of_the_best_candidate_is_its_log_odds() -> None:
    (even,) = choice_features([-3.0, -3.0])
    (sure,) = choice_features([-1.0, -50.0])
    assert even == pytest.approx(0)
    assert sure > 10
