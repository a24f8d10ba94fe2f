"""The confidence of answers, fitted on relations for practice that no weight was trained on."""

import random

from models.confidence import Confidence
from models.relational.answer import Answerer, Reading
from models.relational.checkpoint import Model
from models.relational.network import RelationalNetwork
from models.relational.question import TextReader
from models.training.harness.scale import fit_scale
from models.training.relational.exam import put
from models.training.relational.examples import ExampleMaker
from models.training.relational.plan import Plan

NO_SCALE = Confidence((1.0, 1.0, 0.0), 0.0, 0.0)  # path, start and form (models/relational/answer.py)


def calibrate(
    plan: Plan, network: RelationalNetwork, reader: TextReader, makers: tuple[ExampleMaker, ...]
) -> Confidence:
    """Fit the scale on as many questions of each maker as a group of the exam has, and set the threshold."""
    rng = random.Random(f"{plan.seed}/calibrate")
    examples = [maker.draw(rng) for maker in makers for _ in range(plan.n_exam)]
    outcomes = put(Answerer(Model(network, reader, NO_SCALE)), examples)
    rows, is_right = [], []
    for outcome in outcomes:
        if isinstance(outcome.reading, Reading) and outcome.reading.candidates:
            rows.append(outcome.reading.features(outcome.reading.candidates[0]))
            is_right.append(outcome.is_best_right)
    return fit_scale(rows, is_right, plan.max_declined)
