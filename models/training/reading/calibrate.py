"""The confidence of answers, fitted on documents, subjects and phrasings that no weight was trained on."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from models.confidence import Confidence, fit
from models.reading.confidence import read_features
from models.training.reading.outcomes import Outcome

DECAY, MAX_ITERATIONS = 1e-3, 200


def calibrate(outcomes: Sequence[Outcome]) -> Confidence:
    """Fit the scale, and choose the threshold that serves both kinds of questions best.

    Questions that the text answers count by their F1, others by whether they are declined; both kinds count alike. The
    best span of a question that the text does not answer is wrong, so the scale learns to doubt it.
    """
    answers = [outcome for outcome in outcomes if outcome.spans]
    features = [read_features(outcome.spans[0], outcome.spans, outcome.n_windows) for outcome in answers]
    scale = fit(
        features, [outcome.is_best_right for outcome in answers], decay=DECAY, max_iterations=MAX_ITERATIONS
    )
    kinds = [
        [outcome for outcome in outcomes if (outcome.question.answer is None) == is_unanswerable]
        for is_unanswerable in (False, True)
    ]

    def value(threshold: float) -> float:
        at_threshold = replace(scale, threshold=threshold)
        return sum(fmean(outcome.f1(at_threshold) for outcome in kind) for kind in kinds if kind)

    thresholds = sorted({0.5, *(outcome.score(scale) for outcome in answers)})
    return replace(scale, threshold=max(thresholds, key=value))
