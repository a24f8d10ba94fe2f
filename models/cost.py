"""The cost of a question to a system, in short questions: limits charge it, and it bounds a forward pass.

A system reads texts, so its time goes with their characters; one that reads more than `default_cost` counts says so
(`models.capabilities.Costs`).

On two cores (2026-11-23) a question of 30 characters takes nkb 3.5 ms in a batch and kbert 2.0, one of 500 characters
25 and 23, one of 2,000 30 and 55, a candidate of 10 characters 4.5, `explain` 15 of nkb and up to 24 readings of kbert,
`top_k` 10 of nkb 11.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TypeAlias

from models.system import Ask

CHARS = 100  # characters of a short question
EXPLANATION = 8  # answers that an answer with its explanation costs
ALTERNATIVES = 3  # further answers that cost as much as a short question

Cost: TypeAlias = Callable[[Ask], int]
"""Returns the cost of a question, in short questions."""


def count_short(n_chars: int) -> int:
    """Return how many short questions have so many characters."""
    return ceil(n_chars / CHARS)


def default_cost(ask: Ask, extra: int = 0) -> int:
    """Return the cost of reading a question with its context once, and once more with each candidate."""
    texts = (ask.context or "", *ask.candidates)
    cost = sum(count_short(len(ask.question) + len(text)) for text in texts) + extra
    return cost * (EXPLANATION if ask.explain else 1) + (ask.top_k - 1) // ALTERNATIVES
