"""Completions are those of plain generation, each text under its own edits; candidates are scored as wholes."""

import pytest

from models.backpack.answering.candidates import TOO_LONG, rank, score_candidates
from models.backpack.answering.completion import Task, complete
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
