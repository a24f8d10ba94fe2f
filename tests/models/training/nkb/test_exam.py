"""Confidence is fitted on log probabilities, and the threshold keeps wrong answers as rare as required."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from models.confidence import Confidence, calibration_error
from models.kit.decoded import features
from models.packs.pack import Pack
from models.training.nkb.exam import GradedAnswer, draw_cases, fit


def sample(count: int, seed: int, familiarity: float) -> list[GradedAnswer]:
    """Return answers that are right as often as their probability says."""
    rng = random.Random(seed)
    answers = []
    for _ in range(count):
        probability = rng.uniform(0.05, 0.999)
        answers.append(
            GradedAnswer(features((math.log(probability),), familiarity), rng.random() < probability)
        )
    return answers


def wrong(confidence: Confidence, answers: Sequence[GradedAnswer]) -> float:
    marks = [not a.right and confidence.score(a.features) >= confidence.threshold for a in answers]
    return sum(marks) / len(answers)


def test_a_fitted_confidence_is_calibrated_on_others() -> None:
    confidence = fit(sample(4000, 1, 0.99), [], 0.05)
    answers = sample(4000, 2, 0.99)
    scores = [confidence.score(answer.features) for answer in answers]
    assert calibration_error(scores, [answer.right for answer in answers]) < 5


def test_the_threshold_is_the_least_that_keeps_wrong_answers_rare() -> None:
    familiar = sample(2000, 3, 0.99)
    confidence = fit(familiar, [], 0.1)
    assert wrong(confidence, familiar) == 0.1
    below = replace(confidence, threshold=confidence.threshold - 0.01)
    assert wrong(below, familiar) > 0.1
    assert fit(familiar, [], 0.9).threshold == 0.0


def test_unfamiliar_names_are_declined_however_fluent_the_answer() -> None:
    familiar = sample(2000, 4, 0.99)
    strangers = [GradedAnswer(features((math.log(0.97),), 0.5), right=False) for _ in range(500)]
    confidence = fit(familiar, strangers, 0.05)
    assert wrong(confidence, strangers) <= 0.05


def test_edits_say_another_answer_and_no_bystander_is_edited() -> None:
    items = list(Pack.load().items())
    targets = [5, 17, 400]
    cases = draw_cases(items, targets, 1)
    edited_names = {items[target].subject.label for target in targets}
    for target, case in zip(targets, cases, strict=True):
        assert case.change.answer != items[target].answer
        assert [question.expected for kind in case.reach.values() for question in kind] == [
            case.change.answer
        ] * 2
        assert set(case.stay) == {"same_relation", "same_subject", "others"}
        for kind, asks in case.stay.items():
            about_edited = [any(name in ask.question for name in edited_names) for ask in asks]
            assert all(about_edited) if kind == "same_subject" else asks
