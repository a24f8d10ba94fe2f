"""The alignment of a mask with candidates: how much each of them belongs there, and no answer at all.

Equation 5 of Zhang et al. (arXiv:1905.07129) is a softmax over dot products with the rows of candidates, among them the
zero row, which stands for no entity and has the logit 0. Here it stands for a question that no candidate answers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from models.thu_ernie.answering.candidates import Candidate

FEATURE_LIMIT = 20.0  # bound of a feature, in logits
NO_ANSWER = 0.0  # logit of the zero row


@dataclass(frozen=True)
class AlignedCandidate:
    """A candidate with its logit.

    Attributes:
        candidate: The candidate.
        logit: Logarithm of the summed exponentials of its objects' dot products.
        subject: Number of the subject whose mask it was aligned with.
    """

    candidate: Candidate
    logit: float
    subject: int


@dataclass(frozen=True)
class Alignment:
    """All candidates of a question, the best first; of equal ones the earlier."""

    entries: tuple[AlignedCandidate, ...]

    @property
    def features(self) -> tuple[float, float]:
        """Return the features of the best answer's confidence: its lead over no answer, and over the second."""
        best = self.entries[0].logit
        second = self.entries[1].logit if len(self.entries) > 1 else best - FEATURE_LIMIT
        return _clip(best - NO_ANSWER), _clip(best - second)

    def shares(self) -> tuple[list[float], float]:
        """Return the probability of each candidate, and of no answer."""
        logits = torch.tensor([*(entry.logit for entry in self.entries), NO_ANSWER], dtype=torch.float64)
        *shares, no_answer = logits.softmax(0).tolist()
        return shares, no_answer


def align(
    query: Float[Tensor, " size"], candidates: Sequence[Candidate], subject: int
) -> list[AlignedCandidate]:
    """Compare the state at a mask with the rows of candidates."""
    if not candidates:
        return []
    products = (torch.cat([candidate.vectors for candidate in candidates]) @ query).double()
    logits = [
        float(part.logsumexp(0))
        for part in torch.split(products, [len(candidate.rows) for candidate in candidates])
    ]
    pairs = zip(candidates, logits, strict=True)
    return [AlignedCandidate(candidate, logit, subject) for candidate, logit in pairs if math.isfinite(logit)]


def _clip(value: float) -> float:
    return max(-FEATURE_LIMIT, min(FEATURE_LIMIT, value))
