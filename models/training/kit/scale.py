"""The scale of a system's answers, fitted on answers that no weight was trained on, and its threshold."""

from collections.abc import Sequence
from dataclasses import replace

from models.confidence import Confidence, fit, quantile_threshold

DECAY, MAX_ITERATIONS = 1e-3, 200


def fit_scale(
    features: Sequence[Sequence[float]],
    is_right: Sequence[bool],
    max_declined: float,
    decay: float = DECAY,
    max_iterations: int = MAX_ITERATIONS,
) -> Confidence:
    """Fit Platt's scale, and the threshold that declines a share `max_declined` of the right answers.

    A best answer to a question without an answer counts as wrong, so the scale learns to doubt it.
    """
    scale = fit(features, is_right, decay=decay, max_iterations=max_iterations)
    right = [scale.score(row) for row, is_good in zip(features, is_right, strict=True) if is_good]
    return replace(scale, threshold=quantile_threshold(right, max_declined) if right else 0.0)
