"""From token log probabilities to a confidence that means something, and the threshold below which to decline.

Platt scaling on held phrasings; expected calibration error over ten equal-width bins (Guo et al., arXiv:1706.04599).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from models.nkb.confidence import Confidence, features

BINS = 10


@dataclass(frozen=True)
class Said:
    """An answer as decoded, and whether it was right."""

    logprobs: tuple[float, ...]
    familiarity: float
    right: bool


def fit(known: Sequence[Said], strangers: Sequence[Said], declined: float) -> Confidence:
    """Logistic weights on both, and the threshold that declines a share `declined` of `known`."""
    both = [*known, *strangers]
    x = torch.tensor([features(said.logprobs, said.familiarity) for said in both], dtype=torch.float64)
    y = torch.tensor([float(said.right) for said in both], dtype=torch.float64)
    weights = torch.zeros(x.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> float:
        optimizer.zero_grad()
        value = F.binary_cross_entropy_with_logits(x @ weights + bias, y) + 1e-4 * weights.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return float(value.detach())

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    unbounded = Confidence(tuple(weights.tolist()), float(bias.detach()), 0.0)
    scores = sorted(unbounded.score(said.logprobs, said.familiarity) for said in known)
    return Confidence(unbounded.weights, unbounded.bias, scores[int(declined * len(scores))])


def calibration_error(confidence: Confidence, said: Sequence[Said]) -> float:
    """Expected calibration error, in points of 100."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for one in said:
        score = confidence.score(one.logprobs, one.familiarity)
        bins[min(int(score * BINS), BINS - 1)].append((score, one.right))
    gaps = [abs(sum(s for s, _ in b) - sum(r for _, r in b)) for b in bins]
    return 100 * sum(gaps) / max(1, len(said))


def declined(confidence: Confidence, said: Sequence[Said], threshold: float | None = None) -> float:
    """Share of questions that get no answer at a threshold."""
    limit = confidence.threshold if threshold is None else threshold
    return sum(confidence.score(one.logprobs, one.familiarity) < limit for one in said) / max(1, len(said))


def curve(
    confidence: Confidence, known: Sequence[Said], strangers: Sequence[Said]
) -> list[tuple[float, float, float]]:
    """(threshold, share of known declined, share of strangers declined) over the whole range."""
    grid = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99]
    return [
        (t, declined(confidence, known, t), declined(confidence, strangers, t))
        for t in sorted({*grid, round(confidence.threshold, 4)})
    ]
