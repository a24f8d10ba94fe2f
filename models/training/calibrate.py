"""From token log probabilities to a confidence that means something, and the threshold below which to decline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from models import confidence as scale
from models.confidence import Confidence
from models.nkb.answers import features

DECAY, ITERATIONS = 1e-4, 200


@dataclass(frozen=True)
class Graded:
    """An answer as decoded, and whether it was right."""

    logprobs: tuple[float, ...]
    familiarity: float
    right: bool

    def score(self, confidence: Confidence) -> float:
        return confidence.score(features(self.logprobs, self.familiarity))


def fit(known: Sequence[Graded], strangers: Sequence[Graded], declined: float) -> Confidence:
    """Logistic weights on both, and the threshold that declines a share `declined` of `known`."""
    graded = [*known, *strangers]
    x = [features(answer.logprobs, answer.familiarity) for answer in graded]
    fitted = scale.fit(x, [answer.right for answer in graded], decay=DECAY, max_iterations=ITERATIONS)
    scores = [answer.score(fitted) for answer in known]
    return replace(fitted, threshold=scale.quantile_threshold(scores, declined))


def calibration_error(confidence: Confidence, graded: Sequence[Graded]) -> float:
    """Expected calibration error, in points of 100."""
    scores = [answer.score(confidence) for answer in graded]
    return scale.calibration_error(scores, [answer.right for answer in graded])


def declined(confidence: Confidence, graded: Sequence[Graded], threshold: float | None = None) -> float:
    """Share of questions that get no answer at a threshold."""
    limit = confidence.threshold if threshold is None else threshold
    return sum(answer.score(confidence) < limit for answer in graded) / max(1, len(graded))


def curve(
    confidence: Confidence, known: Sequence[Graded], strangers: Sequence[Graded]
) -> list[tuple[float, float, float]]:
    """(threshold, share of known declined, share of strangers declined) over the whole range."""
    grid = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99]
    return [
        (t, declined(confidence, known, t), declined(confidence, strangers, t))
        for t in sorted({*grid, round(confidence.threshold, 4)})
    ]
