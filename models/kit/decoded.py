"""The answers of a batch while they grow: the rows that are not finished, and the features of a confidence.

A decoder that has memorised its facts is as fluent about unknown names, so token probabilities alone do not tell a
memory from a guess. The familiarity of the nearest subject of training joins the log probabilities in the scale
(models/confidence.py), which is fitted on phrasings and names that the base has not seen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

LEAVE = 0.25  # share of finished rows at which it pays to move the others together


@dataclass(frozen=True)
class DecodedAnswer:
    """One answer."""

    tokens: tuple[int, ...]  # its tokens, without start, end and padding
    logprobs: tuple[float, ...]  # Log-probability of each token, and of the end token when `finished`
    finished: bool  # whether the model itself ended the answer
    # Answers that begin with the next best first tokens, the best of these in front
    alternatives: tuple["DecodedAnswer", ...] = ()


class Answers:
    """Collects tokens by row while rows leave the batch."""

    def __init__(self, limits: Sequence[int], ends: frozenset[int]) -> None:
        self._limits, self._ends = limits, ends
        self._tokens: list[list[int]] = [[] for _ in limits]
        self._logprobs: list[list[float]] = [[] for _ in limits]
        self._finished = [False] * len(limits)
        self._live = list(range(len(limits)))

    def add(self, tokens: Sequence[int], logprobs: Sequence[float]) -> None:
        """Add a token for each row that is still in the batch."""
        for row, token, logprob in zip(self._live, tokens, logprobs, strict=True):
            if self._is_done(row):
                continue
            self._logprobs[row].append(logprob)
            if token in self._ends:
                self._finished[row] = True
            else:
                self._tokens[row].append(token)

    def leave(self) -> list[int] | None:
        """Return the places in the batch that go on if it is time to drop finished rows, otherwise None."""
        places = [place for place, row in enumerate(self._live) if not self._is_done(row)]
        n_done = len(self._live) - len(places)
        if not n_done or (places and n_done < LEAVE * len(self._live)):
            return None
        self._live = [self._live[place] for place in places]
        return places

    def _is_done(self, row: int) -> bool:
        return self._finished[row] or len(self._tokens[row]) == self._limits[row]

    def group(self, branches: Sequence[int]) -> list[DecodedAnswer]:
        """Return an answer for each question: the first of its next `branches` rows, the others as alternatives."""
        rows = [
            DecodedAnswer(tuple(tokens), tuple(logprobs), finished)
            for tokens, logprobs, finished in zip(self._tokens, self._logprobs, self._finished, strict=True)
        ]
        ends = accumulate(branches)
        groups = [rows[end - count : end] for end, count in zip(ends, branches, strict=True)]
        return [replace(group[0], alternatives=tuple(group[1:])) for group in groups]


def features(logprobs: Sequence[float], familiarity: float) -> tuple[float, ...]:
    """Return the features of an answer's confidence.

    Returns:
        Doubt about the first token, about the least likely one, about the whole answer, and about the subject.
    """
    logits = []
    for logprob in (logprobs[0], min(logprobs), sum(logprobs)):
        doubt = min(
            max(-math.expm1(logprob), 1e-6), 1 - 1e-6
        )  # fine steps near certainty, where answers crowd
        logits.append(math.log(doubt / (1 - doubt)))
    return *logits, math.log(max(1 - familiarity, 1e-3))
