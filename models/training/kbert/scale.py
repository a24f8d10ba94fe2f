"""Platt scaling (1999), the threshold, and the error of the calibration (Guo et al., arXiv:1706.04599)."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from models.kbert.confidence import Confidence

BINS = 10
SMALL = 1e-3  # weight decay: keeps the weights finite where the classes can be told apart


def fit(features: Sequence[Sequence[float]], right: Sequence[bool], declined: float) -> Confidence:
    """Logistic weights, and the threshold that declines a share `declined` of what is right."""
    x = torch.tensor(features, dtype=torch.float64)
    y = torch.tensor([float(one) for one in right], dtype=torch.float64)
    weights = torch.zeros(x.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> float:
        optimizer.zero_grad()
        value = F.binary_cross_entropy_with_logits(x @ weights + bias, y) + SMALL * weights.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return float(value.detach())

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    unbounded = Confidence(tuple(weights.tolist()), float(bias.detach()), 0.0)
    scores = sorted(unbounded.score(f) for f, ok in zip(features, right, strict=True) if ok)
    return Confidence(unbounded.weights, unbounded.bias, scores[int(declined * len(scores))])


def calibration_error(scored: Sequence[tuple[float, bool]]) -> float:
    """Expected calibration error of (score, right), in points of 100."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for score, right in scored:
        bins[min(int(score * BINS), BINS - 1)].append((score, right))
    gaps = [abs(sum(s for s, _ in one) - sum(r for _, r in one)) for one in bins]
    return 100 * sum(gaps) / max(1, len(scored))
