"""A training learns to read rows, goes on where it stopped, and ends in a checkpoint with a card."""

import json
import random
from dataclasses import replace
from pathlib import Path

import torch

from models.thu_ernie.answering.checkpoint import TABLE, load, save
from models.thu_ernie.answering.reader import SCALES
from models.training.thu_ernie.__main__ import examine, train
from models.training.thu_ernie.batch import collate_questions
from models.training.thu_ernie.calibrate import NO_SCALE, fit_scale
from models.training.thu_ernie.exam import Examiner, share
from models.training.thu_ernie.learning import Learning, near_loss
from models.training.thu_ernie.plan import Plan
from models.training.thu_ernie.prepare import Setup, write_rows
from tests.models.training import toys


def mean_loss(learning: Learning, setup: Setup, plan: Plan) -> float:
    """Return the loss of candidates on questions that no step has drawn."""
    rng = random.Random("held out")
    examples = [setup.questions.draw(rng) for _ in range(96)]
    layout = collate_questions(examples, setup.vocabulary, plan.config.entity_size, 64)
    with torch.no_grad():
        return float(near_loss(learning.network.query(layout.batch, layout.places), examples))


def test_the_loss_of_candidates_falls(learning: Learning, setup: Setup, plan: Plan) -> None:
    fresh = toys.begin_thu_ernie(plan)
    fresh.network.eval()
    assert mean_loss(learning, setup, plan) < 0.85 * mean_loss(fresh, setup, plan)


def test_a_training_ends_in_a_checkpoint_with_figures_and_a_card(
    setup: Setup, plan: Plan, tmp_path: Path
) -> None:
    plan, lines = replace(plan, steps=3, keep_every=2), list[str]()
    work, out = tmp_path / "work", tmp_path / "out"
    train(plan, setup, work, out, 2, lines.append)
    assert not out.exists()
    train(plan, setup, work, out, None, lines.append)
    examine(plan, setup, work, out, lines.append)
    measures = json.loads((out / "measured.json").read_text())
    assert measures["neighbours"]["n"] == 2 * len(setup.world.pack.relations)
    assert measures["neighbours"]["hits@5"] >= measures["neighbours"]["hits@1"]
    assert measures["edits of rows"]["n"] == plan.n_edits
    assert measures["edits together"]["n"] == plan.n_joint_edits
    assert "Worst relations" in (out / "README.md").read_text()
    assert any(line.startswith("step 3/3") for line in lines)
    assert load(out).confidences["neighbours"] != NO_SCALE


def test_the_exam_asks_in_the_words_of_the_third_writer(
    learning: Learning, setup: Setup, plan: Plan, tmp_path: Path
) -> None:
    answers = write_rows(setup, tmp_path / TABLE)
    save(learning.network, answers, plan.settings, dict.fromkeys(SCALES, NO_SCALE), tmp_path)
    examiner = Examiner(load(tmp_path), setup, plan)
    inquiries = examiner.draw("test", 1)
    for inquiry in inquiries:
        label = inquiry.ask.mentions[0].entities[0].label
        assert inquiry.ask.question in [
            text.replace("{subject}", label) for text in setup.wordings.test[inquiry.relation]
        ]
        assert inquiry.expected
    absent = examiner.draw_absent("test", 1)
    assert absent
    strange = examiner.draw_strange("test", 5)
    assert all(inquiry.expected == "" for inquiry in [*absent, *strange])
    assert share(examiner.put([*absent, *strange])) == 0.0


def test_a_scale_is_fitted_to_what_was_right(plan: Plan) -> None:
    features = [(float(lead), 1.0) for lead in range(-10, 10)] * 5
    scale = fit_scale(plan, features, [lead > 0 for lead, _ in features])
    assert scale.score((8.0, 1.0)) > 0.9 > 0.1 > scale.score((-8.0, 1.0))
    assert 0.3 <= scale.threshold < 1
