"""The confidence of answers, fitted on documents, subjects and phrasings that no weight was trained on."""

from collections.abc import Sequence
from dataclasses import replace

from models.confidence import Confidence, fit, quantile_threshold
from models.reading.confidence import read_features
from models.training.harness.scale import DECAY, MAX_ITERATIONS
from models.training.reading.outcomes import Outcome

DECLINED_SHARE = 0.75  # share of the questions that their text does not answer which the threshold declines


def calibrate(outcomes: Sequence[Outcome], declined_share: float = DECLINED_SHARE) -> Confidence:
    """Fit the scale, and choose the lowest threshold that declines a share of the questions that no text answers.

    The best span of such a question is wrong, so the scale learns to doubt it, too.
    """
    answers = [outcome for outcome in outcomes if outcome.spans]
    features = [read_features(outcome.spans[0], outcome.spans, outcome.n_windows) for outcome in answers]
    is_right = [outcome.is_best_right for outcome in answers]
    scale = fit(features, is_right, decay=DECAY, max_iterations=MAX_ITERATIONS)
    in_vain = [outcome.score(scale) for outcome in answers if outcome.question.answer is None]
    return replace(scale, threshold=quantile_threshold(in_vain, declined_share) if in_vain else 0.5)
