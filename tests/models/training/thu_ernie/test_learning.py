"""ERNIE learns a toy task."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.thu_ernie.checkpoint import TABLE, load, save
from models.thu_ernie.reader import SCALES, Settings
from models.training.kit.plan import Plan
from models.training.kit.run import Run
from models.training.thu_ernie import exam, training
from models.training.thu_ernie.exam import NO_SCALE, Drawer, calibrate
from models.training.thu_ernie.learning import Learning, collate_questions, near_loss
from models.training.thu_ernie.questions import NO_TARGET
from models.training.thu_ernie.training import Setup, write_rows
from models.training.thu_ernie.world import World
from tests.models.training import toys


@pytest.fixture
def plan() -> Plan:
    return toys.THU_ERNIE


@pytest.fixture
def world() -> World:
    return toys.setup().world


@pytest.fixture
def setup() -> Setup:
    return toys.setup()


@pytest.fixture
def learning() -> Learning:
    return toys.trained_thu_ernie()


def mean_loss(learning: Learning, setup: Setup, plan: Plan) -> float:
    """Return the loss of candidates on questions that no step has drawn."""
    rng = random.Random("held out")
    examples = [setup.questions.draw(rng) for _ in range(96)]
    batch = collate_questions(examples, setup.vocabulary, plan.config.entity_size, 64)
    with torch.no_grad():
        return float(near_loss(learning.network.query(batch), examples))


def test_the_loss_of_candidates_falls(learning: Learning, setup: Setup, plan: Plan) -> None:
    fresh = toys.begin_thu_ernie(plan)
    fresh.network.eval()
    assert mean_loss(learning, setup, plan) < 0.85 * mean_loss(fresh, setup, plan)


def test_a_training_ends_in_a_checkpoint_with_figures_and_a_card(
    setup: Setup,
    plan: Plan,
    cut_pack: Callable[[int], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training, "prepare", lambda plan, folder, work: setup)
    plan, lines = plan.change(steps=3, keep_every=2, n_joint_edits=4), list[str]()
    work, out, pack = tmp_path / "work", tmp_path / "out", cut_pack(300)
    assert not training.train(Run(plan, pack, work, out, lines.append, until=2))
    assert not out.exists()
    run = Run(plan, pack, work, out, lines.append)
    assert training.train(run)
    training.measure(run)
    measures = json.loads((out / "measured.json").read_text())
    assert measures["neighbours"]["n"] >= 2 * len(setup.world.pack.relations)
    assert (measures["alone"]["n"], measures["together"]["n"]) == (plan.n_edits, plan.n_joint_edits)
    assert "| together |" in (out / "README.md").read_text()
    assert any(line.startswith("step 3/3") for line in lines)
    assert load(out).confidences["neighbours"] != NO_SCALE


def test_the_exam_asks_in_the_words_of_the_third_writer(setup: Setup) -> None:
    drawer = Drawer(setup.world.pack, setup.wordings, 1)
    questions = drawer.draw("test", 1)
    words = {text for texts in setup.wordings.test.values() for text in texts}
    for question in questions:
        label = question.ask.mentions[0].entities[0].label
        assert question.ask.question in {text.replace("{subject}", label) for text in words}
        assert question.expected
    absent = drawer.draw_absent("test", 1)
    assert absent
    assert all(question.expected is None for question in [*absent, *drawer.draw_strange("test", 5)])


def test_edits_are_of_different_entities_and_say_another_object(setup: Setup) -> None:
    cases = Drawer(setup.world.pack, setup.wordings, 1).draw_cases(5, "alone")
    assert len({entity for case in cases for entity in case.change.statements}) == len(cases) == 5
    for case in cases:
        old, new = case.reach["against_old"][0].ask.candidates
        assert old != new == case.reach["given"][0].expected


def test_a_scale_is_fitted_to_what_was_right(plan: Plan) -> None:
    features = [(float(lead), 1.0) for lead in range(-10, 10)] * 5
    scale = exam._fit(plan, features, [lead > 0 for lead, _ in features])
    assert scale.score((8.0, 1.0)) > 0.9 > 0.1 > scale.score((-8.0, 1.0))
    assert 0.3 <= scale.threshold < 1


def test_the_scales_of_a_checkpoint_are_fitted_on_what_it_says(
    learning: Learning, setup: Setup, plan: Plan, tmp_path: Path
) -> None:
    answers = write_rows(setup, tmp_path / TABLE)
    settings = plan.settings.make(Settings)
    save(learning.network, answers, settings, dict.fromkeys(SCALES, NO_SCALE), tmp_path)
    scales = calibrate(plan, load(tmp_path), Drawer(setup.world.pack, setup.wordings, plan.seed))
    assert set(scales) == set(SCALES)
    assert scales["neighbours"] != NO_SCALE


def test_the_right_candidate_holds_the_right_objects(setup: Setup) -> None:
    rng = random.Random(2)
    plain = replace(setup.questions, mixture=setup.questions.mixture.change(fallback=0.0))
    kinds = set()
    for _ in range(80):
        example = plain.draw(rng)
        kinds.add((example.target == NO_TARGET, example.mask is None, example.mention is None))
        name = example.question.text[example.question.begin : example.question.end]
        assert name.strip()
        if example.target != NO_TARGET and example.right:
            torch.testing.assert_close(example.groups[example.target], setup.world.rows[list(example.right)])
        if example.target == NO_TARGET:
            assert example.right == ()
    assert {(True, False, False), (False, False, False), (False, False, True), (False, True, True)} <= kinds
