"""The probability that an answer is right, and the threshold below which none is given: one scale for all systems.

Platt scaling (1999): a logistic model over a system's own features of an answer; below a threshold the answer is
withheld. Expected calibration error over ten equal-width bins (Guo et al., arXiv:1706.04599).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

BINS = 10


@dataclass(frozen=True)
class Confidence:
    """A fitted scale."""

    weights: tuple[float, ...]  # weights of the features, in their order
    bias: float  # constant of the logistic model
    threshold: float  # score below which the answer is withheld

    def score(self, features: Sequence[float]) -> float:
        """Return the calibrated probability that the answer with these features is right, in [0, 1]."""
        return sigmoid(self.bias + sum(w * f for w, f in zip(self.weights, features, strict=True)))

    @staticmethod
    def parse(raw: Mapping[str, Any]) -> "Confidence":
        """Read the scale that `to_json` described."""
        return Confidence(tuple(map(float, raw["weights"])), float(raw["bias"]), float(raw["threshold"]))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))


def fit(
    features: Sequence[Sequence[float]], is_right: Sequence[bool], *, decay: float, max_iterations: int
) -> Confidence:
    """Fit logistic weights; the threshold is 0.

    Args:
        decay: Weight of the squared weights in the loss; keeps them finite where the classes can be told apart.
        max_iterations: Most steps of the optimizer.
    """
    x = torch.tensor(features, dtype=torch.float64)
    y = torch.tensor([float(right) for right in is_right], dtype=torch.float64)
    weights = torch.zeros(x.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(1, dtype=torch.float64, requires_grad=True)

    def loss() -> Tensor:
        return F.binary_cross_entropy_with_logits(x @ weights + bias, y) + decay * weights.square().sum()

    minimise([weights, bias], loss, max_iterations)
    return Confidence(tuple(weights.tolist()), float(bias.detach()), 0.0)


def minimise(numbers: Sequence[Tensor], loss: Callable[[], Tensor], max_iterations: int) -> None:
    """Change numbers in place until a loss of them is smallest (L-BFGS)."""
    optimizer = torch.optim.LBFGS([*numbers], max_iter=max_iterations, line_search_fn="strong_wolfe")

    def take() -> Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(take)  # type: ignore[no-untyped-call]


def quantile_threshold(scores: Sequence[float], declined_share: float) -> float:
    """Return the score below which `declined_share` of the scores lie."""
    return sorted(scores)[int(declined_share * len(scores))]


def calibration_error(scores: Sequence[float], is_right: Sequence[bool]) -> float:
    """Return the expected calibration error in points of 100; 0 without any score."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for score, right in zip(scores, is_right, strict=True):
        bins[min(int(score * BINS), BINS - 1)].append((score, right))
    gaps = [abs(sum(s for s, _ in pairs) - sum(r for _, r in pairs)) for pairs in bins]
    return 100 * sum(gaps) / max(1, len(scores))
