"""Calibrates log-probabilities of tokens into a confidence, and chooses the threshold of answers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from models import confidence as scale
from models.confidence import Confidence
from models.nkb.answers import features

DECAY, ITERATIONS = 1e-4, 200


@dataclass(frozen=True)
class GradedAnswer:
    """An answer as decoded, and whether it was right."""

    logprobs: tuple[float, ...]
    familiarity: float
    right: bool

    def score(self, confidence: Confidence) -> float:
        return confidence.score(features(self.logprobs, self.familiarity))


def fit(familiar: Sequence[GradedAnswer], strangers: Sequence[GradedAnswer], most_wrong: float) -> Confidence:
    """Fit logistic weights on both, and choose the lowest threshold that keeps wrong answers rare.

    Args:
        familiar: Answers about facts that were learned.
        strangers: Answers about names that were not; none of them is right.
        most_wrong: Share of each group that may be answered wrongly.
    """
    answers = [*familiar, *strangers]
    x = [features(answer.logprobs, answer.familiarity) for answer in answers]
    confidence = scale.fit(x, [answer.right for answer in answers], decay=DECAY, max_iterations=ITERATIONS)
    limits = [least_threshold(confidence, group, most_wrong) for group in (familiar, strangers) if group]
    return replace(confidence, threshold=max(limits))


def least_threshold(confidence: Confidence, answers: Sequence[GradedAnswer], most_wrong: float) -> float:
    """Return the lowest score from which at most this share of all answers is given and wrong."""
    n_allowed = int(most_wrong * len(answers))
    scores = sorted((a.score(confidence) for a in answers if not a.right), reverse=True)
    return math.nextafter(scores[n_allowed], 1.0) if n_allowed < len(scores) else 0.0


def calibration_error(confidence: Confidence, answers: Sequence[GradedAnswer]) -> float:
    """Return the expected calibration error, in points of 100."""
    scores = [answer.score(confidence) for answer in answers]
    return scale.calibration_error(scores, [answer.right for answer in answers])


def declined(
    confidence: Confidence, answers: Sequence[GradedAnswer], threshold: float | None = None
) -> float:
    """Return the share of questions without an answer at a threshold."""
    limit = confidence.threshold if threshold is None else threshold
    return sum(answer.score(confidence) < limit for answer in answers) / max(1, len(answers))


def wrong(confidence: Confidence, answers: Sequence[GradedAnswer], threshold: float | None = None) -> float:
    """Return the share of questions that get a wrong answer at a threshold."""
    limit = confidence.threshold if threshold is None else threshold
    return sum(not a.right and a.score(confidence) >= limit for a in answers) / max(1, len(answers))


def curve(
    confidence: Confidence, familiar: Sequence[GradedAnswer], strangers: Sequence[GradedAnswer]
) -> list[tuple[float, float, float, float]]:
    """Return (threshold, shares of known that are declined and wrong, share of strangers declined), over the range."""
    grid = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99]
    return [
        (
            t,
            declined(confidence, familiar, t),
            wrong(confidence, familiar, t),
            declined(confidence, strangers, t),
        )
        for t in sorted({*grid, round(confidence.threshold, 4)})
    ]
