"""The confidence of answers, fitted on documents, subjects and phrasings that no weight was trained on."""

from collections.abc import Sequence
from dataclasses import replace

from models.confidence import Confidence, fit
from models.ernie_doc.confidence import read_features
from models.training.ernie_doc.exam import Outcome

DECAY, MAX_ITERATIONS = 1e-3, 200


def calibrate(outcomes: Sequence[Outcome]) -> Confidence:
    """Fit the scale, and choose the threshold of answers with the largest mean F1.

    The best span of a question that the document does not answer is wrong, so the scale learns to doubt it.
    """
    answers = [outcome for outcome in outcomes if outcome.result.spans]
    features = [
        read_features(outcome.result.spans[0], outcome.result.spans, len(outcome.result.choice.numbers))
        for outcome in answers
    ]
    is_right = [outcome.is_best_right for outcome in answers]
    scale = fit(features, is_right, decay=DECAY, max_iterations=MAX_ITERATIONS)
    thresholds = sorted({0.5, *(outcome.score(scale) for outcome in answers)})

    def mean_f1(threshold: float) -> float:
        return sum(outcome.f1(replace(scale, threshold=threshold)) for outcome in outcomes)

    return replace(scale, threshold=max(thresholds, key=mean_f1))
