"""Mean reciprocal rank over questions with candidates (specs/kbert.md, section 6).

A question is a run of rows with one qid, and its rank is that of its best gold candidate. The authors' code shifts
the groups when a question has no gold candidate and counts tied scores several times; here such a question counts
0 and is reported, and a tie is taken to be lost.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Judged:
    """One row: a candidate of question `qid`, whether it is right, and the score it got."""

    qid: str
    gold: bool
    score: float


@dataclass(frozen=True, slots=True)
class MeanReciprocalRank:
    """value: over all questions, from 0 to 1; 0 when there are none. without_gold: those that counted 0."""

    value: float
    questions: int
    without_gold: int


def mean_reciprocal_rank(rows: Iterable[Judged]) -> MeanReciprocalRank:
    ranks = [best_rank(list(group)) for _, group in groupby(rows, key=lambda row: row.qid)]
    total = sum(1 / rank for rank in ranks if rank is not None)
    return MeanReciprocalRank(total / len(ranks) if ranks else 0.0, len(ranks), ranks.count(None))


def best_rank(candidates: Sequence[Judged]) -> int | None:
    """From 1; None without a gold candidate. ValueError when a score is not a number."""
    if any(math.isnan(one.score) for one in candidates):
        raise ValueError(f"a candidate of question {candidates[0].qid!r} has no score")
    gold = [one.score for one in candidates if one.gold]
    if not gold:
        return None
    return 1 + sum(one.score >= max(gold) for one in candidates if not one.gold)
