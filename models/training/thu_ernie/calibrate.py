"""The confidence of each kind of answer, fitted on phrasings and subjects that no weight was trained on."""

from collections.abc import Sequence
from dataclasses import replace

from models.confidence import Confidence
from models.training.kit import scale as harness
from models.training.thu_ernie.exam import Examiner, switch_links_off
from models.training.thu_ernie.plan import Plan

NO_SCALE = Confidence((1.0, 0.0), 0.0, 0.0)  # scale that equals the odds against no answer
N_PER_RELATION = 12  # questions of each relation that are asked
LOWEST = 0.3  # lowest threshold: an answer that is more likely wrong than right by far is withheld
N_WITHOUT_LINKS = 4  # questions of each relation that are asked without links
ABSENT_SHARE = 3  # every third question about a fact is about a missing fact


def calibrate(plan: Plan, examiner: Examiner) -> dict[str, Confidence]:
    """Fit the scales of a model whose scales are NO_SCALE."""
    answerable = examiner.draw("choose", N_PER_RELATION)
    absent = examiner.draw_absent("choose", N_PER_RELATION // ABSENT_SHARE)
    absent += examiner.draw_strange("choose", len(absent))
    with_links = [
        outcome for outcome in examiner.put([*answerable, *absent]) if outcome.reading.alignment.entries
    ]
    without_links = examiner.put(switch_links_off(examiner.draw("choose", N_WITHOUT_LINKS)))
    return {
        "neighbours": fit_scale(
            plan, [o.reading.alignment.features for o in with_links], [o.is_hit() for o in with_links]
        ),
        "answers": fit_scale(
            plan, [o.reading.alignment.features for o in without_links], [o.is_hit() for o in without_links]
        ),
    }


def fit_scale(plan: Plan, features: Sequence[tuple[float, float]], is_right: Sequence[bool]) -> Confidence:
    """Fit one scale; its threshold declines a small share of the right answers."""
    scale = harness.fit_scale(features, is_right, plan.max_declined)
    return replace(scale, threshold=max(LOWEST, scale.threshold))
