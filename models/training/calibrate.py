"""From token log probabilities to a confidence that means something, and the threshold below which to decline."""

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


def fit(familiar: Sequence[GradedAnswer], strangers: Sequence[GradedAnswer], declined: float) -> Confidence:
    """Logistic weights on both, and the threshold that declines a share `declined` of `familiar`."""
    answers = [*familiar, *strangers]
    x = [features(answer.logprobs, answer.familiarity) for answer in answers]
    confidence = scale.fit(x, [answer.right for answer in answers], decay=DECAY, max_iterations=ITERATIONS)
    scores = [answer.score(confidence) for answer in familiar]
    return replace(confidence, threshold=scale.quantile_threshold(scores, declined))


def calibration_error(confidence: Confidence, answers: Sequence[GradedAnswer]) -> float:
    """Expected calibration error, in points of 100."""
    scores = [answer.score(confidence) for answer in answers]
    return scale.calibration_error(scores, [answer.right for answer in answers])


def declined(
    confidence: Confidence, answers: Sequence[GradedAnswer], threshold: float | None = None
) -> float:
    """Share of questions that get no answer at a threshold."""
    limit = confidence.threshold if threshold is None else threshold
    return sum(answer.score(confidence) < limit for answer in answers) / max(1, len(answers))


def curve(
    confidence: Confidence, familiar: Sequence[GradedAnswer], strangers: Sequence[GradedAnswer]
) -> list[tuple[float, float, float]]:
    """(threshold, share of known declined, share of strangers declined) over the whole range."""
    grid = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99]
    return [
        (t, declined(confidence, familiar, t), declined(confidence, strangers, t))
        for t in sorted({*grid, round(confidence.threshold, 4)})
    ]
