"""The first stage: which wordings of edits a question may ask for, to be judged one by one.

By the sentence vectors alone, and never one that names another number, code or known subject. A question meets at most
MAX_CANDIDATES, the nearest first, so that one that resembles a thousand edits costs what one that resembles eight does.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.capabilities import Verdict
from models.scope.readings import NEAR_ERROR, Readings, StoredReadings, may_share

MIN_COSINE = 0.6  # below it no pair is judged, whatever the calibration
MAX_CANDIDATES = 6  # most pairs of one question that may be judged


@dataclass(frozen=True)
class Candidates:
    """Question `question` of one set may ask for wording `wording` of another."""

    question: Int[Tensor, " pair"]
    wording: Int[Tensor, " pair"]
    cosine: Float[Tensor, " pair"]

    def select(self, pairs: Tensor) -> "Candidates":
        """Return some of the pairs."""
        return Candidates(self.question[pairs], self.wording[pairs], self.cosine[pairs])

    def nearest(self, limit: int) -> "Candidates":
        """Return the pairs of each question with the highest cosines; of equal ones those that stand first."""
        pairs = self._sort()
        starts = torch.searchsorted(pairs.question, pairs.question)
        return pairs.select(torch.arange(len(starts), device=starts.device) - starts < limit)

    def contenders(self, limit: int, error: float) -> "Candidates":
        """Return the pairs of each question that may be among its nearest, when a cosine is off by `error` at most."""
        pairs = self._sort()
        ends = torch.searchsorted(pairs.question, pairs.question, right=True) - 1
        last = torch.searchsorted(pairs.question, pairs.question) + limit - 1
        return pairs.select(
            (last > ends) | (pairs.cosine >= pairs.cosine[torch.minimum(last, ends)] - 2 * error)
        )

    def _sort(self) -> "Candidates":
        """Return the pairs by question, the highest cosines first."""
        order = (-self.cosine).argsort(stable=True)
        return self.select(order[self.question[order].argsort(stable=True)])


def find_candidates(
    questions: Readings,
    wordings: StoredReadings,
    is_active: Bool[Tensor, "view wording"] | None = None,
    min_cosine: float = MIN_COSINE,
    limit: int = MAX_CANDIDATES,
) -> Candidates:
    """Find the nearest wordings that each question may ask for.

    Args:
        wordings: The wordings of edits.
        is_active: Which wordings count, on the CPU: a line for all questions, or one for each. None counts all.
        min_cosine: Cosine from which a pair is worth judging (`Calibration.min_cosine`).
        limit: Most pairs of one question.

    Returns:
        Pairs grouped by question, on the CPU.
    """
    no_pair = torch.empty(0, dtype=torch.long)
    none = Candidates(no_pair, no_pair, torch.empty(0))
    if not len(questions) or not len(wordings):
        return none
    question, wording, near = wordings.near(questions.vectors, min_cosine)
    if not len(question):
        return none
    agree = questions.literals[question] == wordings.literals[wording]
    agree &= may_share(questions.subjects[question], wordings.subjects[wording])
    if is_active is not None:
        view = question if len(is_active) > 1 else torch.zeros_like(question)
        agree &= is_active.to(agree.device)[view, wording]
    rough = Candidates(question[agree], wording[agree], near[agree]).contenders(limit, NEAR_ERROR)
    exact = wordings.cosines(questions.vectors, rough.question, rough.wording)
    pairs = replace(rough, cosine=exact).select(exact >= min_cosine).nearest(limit)
    return Candidates(pairs.question.cpu(), pairs.wording.cpu(), pairs.cosine.cpu())


def find_exclusion(question: Readings, wordings: StoredReadings, row: int, cosine: float) -> Verdict | None:
    """Return why a question is never judged with the wording at this row; None where it is judged."""
    if question.literals[0] != wordings.literals[row]:
        return "other_literal"
    if not may_share(question.subjects[0], wordings.subjects[row]):
        return "other_subject"
    return "far" if cosine < MIN_COSINE else None
