"""Confidence is fitted on log probabilities, and the threshold keeps wrong answers as rare as required."""

import math
import random
from dataclasses import replace

from models.training.calibrate import GradedAnswer, calibration_error, declined, fit, wrong


def sample(count: int, seed: int, familiarity: float) -> list[GradedAnswer]:
    """Return answers that are right as often as their probability says."""
    rng = random.Random(seed)
    answers = []
    for _ in range(count):
        probability = rng.uniform(0.05, 0.999)
        answers.append(GradedAnswer((math.log(probability),), familiarity, rng.random() < probability))
    return answers


def test_a_fitted_confidence_is_calibrated_on_others() -> None:
    confidence = fit(sample(4000, 1, 0.99), [], 0.05)
    assert calibration_error(confidence, sample(4000, 2, 0.99)) < 5


def test_the_threshold_is_the_least_that_keeps_wrong_answers_rare() -> None:
    familiar = sample(2000, 3, 0.99)
    confidence = fit(familiar, [], 0.1)
    assert wrong(confidence, familiar) == 0.1
    below = replace(confidence, threshold=confidence.threshold - 0.01)
    assert wrong(below, familiar) > 0.1
    assert fit(familiar, [], 0.9).threshold == 0.0


def test_unfamiliar_names_are_declined_however_fluent_the_answer() -> None:
    familiar = sample(2000, 4, 0.99)
    strangers = [GradedAnswer((math.log(0.97),), 0.5, right=False) for _ in range(500)]
    confidence = fit(familiar, strangers, 0.05)
    assert declined(confidence, strangers) >= 0.95
