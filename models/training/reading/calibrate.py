"""The confidence of answers, fitted on texts that no weight was trained on, and its threshold, chosen across hands."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from models.confidence import Confidence, fit
from models.reading.confidence import read_features
from models.training.kit.scale import DECAY, MAX_ITERATIONS
from models.training.reading.outcomes import Outcome

THRESHOLDS = [step / 100 for step in range(2, 96)]


def calibrate(hands: Mapping[str, Sequence[Outcome]]) -> Confidence:
    """Fit the scale on all hands, and take the mean of the best thresholds of single hands.

    A hand's best threshold is found with a scale of the other hands, for a new hand's questions come without their own.
    The best span of a question that its text does not answer is wrong, so the scale learns to doubt it, too.
    """
    parts = {hand: outcomes for hand, outcomes in hands.items() if outcomes}
    thresholds = []
    for hand, outcomes in parts.items():
        rest = [outcome for other, part in parts.items() if other != hand for outcome in part]
        thresholds.append(choose_threshold(outcomes, _fit(rest or outcomes)))
    scale = _fit([outcome for part in parts.values() for outcome in part])
    return replace(scale, threshold=fmean(thresholds))


def choose_threshold(outcomes: Sequence[Outcome], scale: Confidence) -> float:
    """Return the threshold of the highest mean F1, in which a right decline counts as much as a right answer."""
    scales = [replace(scale, threshold=threshold) for threshold in THRESHOLDS]
    return max(scales, key=lambda scale: sum(outcome.f1(scale) for outcome in outcomes)).threshold


def _fit(outcomes: Sequence[Outcome]) -> Confidence:
    answers = [outcome for outcome in outcomes if outcome.spans]
    features = [read_features(outcome.spans[0], outcome.spans, outcome.n_windows) for outcome in answers]
    is_right = [outcome.is_best_right for outcome in answers]
    return fit(features, is_right, decay=DECAY, max_iterations=MAX_ITERATIONS)
