"""Scores mean what they say, and the threshold declines as many as it was told to."""

import random

from models.confidence import calibration_error
from models.training.kit.scale import fit_scale


def test_a_fitted_score_is_the_share_that_is_right() -> None:
    rng = random.Random(1)
    x = [(rng.uniform(-3, 3), rng.uniform(-1, 1)) for _ in range(4000)]
    is_right = [rng.random() < 1 / (1 + 2.718 ** -(2 * a - 1)) for a, _ in x]
    scale = fit_scale(x, is_right, max_declined=0.05)
    assert abs(scale.weights[0] - 2) < 0.3
    assert abs(scale.weights[1]) < 0.3
    scores = [scale.score(features) for features in x]
    assert calibration_error(scores, is_right) < 2
    below = sum(s < scale.threshold for s, ok in zip(scores, is_right, strict=True) if ok) / sum(is_right)
    assert abs(below - 0.05) < 0.01


def test_overconfidence_is_an_error() -> None:
    assert calibration_error([1.0, 1.0], [False, True]) == 50.0
    assert calibration_error([], []) == 0.0
