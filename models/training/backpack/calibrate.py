"""Calibrates log-probabilities into scores, and chooses the scores below which answers are withheld.

Free answers are fitted on phrasings of a writer whose words the training has not read, and on names that the pack
does not hold; choices on the same questions with four other objects of their relation.
"""

import random
from collections.abc import Sequence

import torch

from models.backpack.answering.candidates import score_candidates
from models.backpack.answering.confidence import choice_features, free_features
from models.backpack.answering.prompt import Speller
from models.backpack.network import Backpack
from models.confidence import Confidence, calibration_error, fit
from models.training.backpack.measure import Outcome
from models.training.backpack.texts import Question
from models.training.kit.scale import fit_scale

DECAY, MAX_ITERATIONS = 1e-4, 200
MAX_DECLINED = 0.08  # share of the right answers that the threshold may decline
N_STRANGERS = 100  # questions about unknown names beside a thousand others: most people ask about known names
N_OTHERS = 4  # wrong candidates of a choice


def fit_free(familiar: Sequence[Outcome], strangers: Sequence[Outcome]) -> Confidence:
    """Fit the scale of free answers; the threshold declines a share MAX_DECLINED of the right ones."""
    outcomes = [*familiar, *strangers]
    features = [free_features(outcome.logprobs) for outcome in outcomes]
    return fit_scale(features, [outcome.is_right for outcome in outcomes], MAX_DECLINED, DECAY)


def fit_choice(net: Backpack, speller: Speller, questions: Sequence[Question], seed: int) -> Confidence:
    """Fit the scale of choices, none of which is declined."""
    rng, features, is_right = random.Random(f"{seed} choices"), [], []
    answers = sorted({question.answer for question in questions})
    for question in questions:
        wrong = [
            answer
            for answer in rng.sample(answers, min(N_OTHERS + 1, len(answers)))
            if answer != question.answer
        ]
        candidates = [question.answer, *wrong[:N_OTHERS]]
        with torch.inference_mode():
            prompt, texts = speller.ask(question.text), [speller.answer(text) for text in candidates]
            scores = score_candidates(net, prompt, texts)
        features.append(choice_features(scores))
        is_right.append(max(scores) == scores[0])
    return fit(features, is_right, decay=DECAY, max_iterations=MAX_ITERATIONS)


def free_error(scale: Confidence, outcomes: Sequence[Outcome]) -> float:
    """Return the expected calibration error of free answers in points."""
    scores = [scale.score(free_features(outcome.logprobs)) for outcome in outcomes]
    return calibration_error(scores, [outcome.is_right for outcome in outcomes])


def share_wrong(scale: Confidence, outcomes: Sequence[Outcome]) -> float:
    """Return the share of questions that are answered wrongly, and not withheld, in per cent."""
    wrong = [outcome for outcome in outcomes if not outcome.is_right]
    return (100 - share_declined(scale, wrong)) * len(wrong) / max(1, len(outcomes))


def share_declined(scale: Confidence, outcomes: Sequence[Outcome]) -> float:
    """Return the share of answers that are withheld, in per cent."""
    withheld = sum(scale.score(free_features(outcome.logprobs)) < scale.threshold for outcome in outcomes)
    return 100 * withheld / max(1, len(outcomes))
