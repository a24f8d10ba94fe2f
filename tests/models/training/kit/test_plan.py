"""Plans are read from toml, change without changing the first one, and make configurations.

Scores mean what they say, and the threshold declines as many as it was told to.
The phrasings of the three writers cover the pack and practice, splits are by writer, and slips are as told.
"""

import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from models.confidence import calibration_error
from models.packs.pack import WORLD, Pack
from models.training.__main__ import TRAININGS
from models.training.kit.plan import Plan, read_plan
from models.training.kit.scale import fit_scale
from models.training.texts.phrasings import HANDS, read_phrasings
from models.training.texts.typing import retype


@dataclass(frozen=True)
class Sizes:
    layers: tuple[int, ...]
    width: int


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "plan.toml").write_text("seed = 1\nhands = [1, 2]\n\n[sizes]\nlayers = [3]\nwidth = 8\n")
    return read_plan(tmp_path)


def test_a_table_is_a_plan_that_makes_a_configuration(plan: Plan) -> None:
    assert (plan.seed, plan.hands) == (1, (1, 2))
    assert plan.sizes.make(Sizes) == Sizes((3,), 8)


def test_a_changed_plan_leaves_the_first_as_it_is(plan: Plan) -> None:
    other = plan.change(seed=2, sizes={"width": 9})
    assert (other.seed, other.sizes.width, other.sizes.layers) == (2, 9, (3,))
    assert (plan.seed, plan.sizes.width) == (1, 8)
    assert plan.to_json() == {"seed": 1, "hands": (1, 2), "sizes": {"layers": (3,), "width": 8}}


def test_a_number_that_the_plan_lacks_is_named(plan: Plan) -> None:
    with pytest.raises(AttributeError, match=r"the plan has no 'rate': write it into plan\.toml"):
        _ = plan.rate


def test_every_training_of_the_command_has_a_plan() -> None:
    folder = Path("models/training")
    for module, _ in TRAININGS.values():
        assert read_plan(folder / module.split(".")[0]).seed


def test_a_fitted_score_is_the_share_that_is_right() -> None:
    rng = random.Random(1)
    x = [(rng.uniform(-3, 3), rng.uniform(-1, 1)) for _ in range(4000)]
    is_right = [rng.random() < 1 / (1 + 2.718 ** -(2 * a - 1)) for a, _ in x]
    scale = fit_scale(x, is_right, max_declined=0.05)
    assert abs(scale.weights[0] - 2) < 0.3
    assert abs(scale.weights[1]) < 0.3
    scores = [scale.score(features) for features in x]
    assert calibration_error(scores, is_right) < 2
    below = sum(s < scale.threshold for s, ok in zip(scores, is_right, strict=True) if ok) / sum(is_right)
    assert abs(below - 0.05) < 0.01


def test_overconfidence_is_an_error() -> None:
    assert calibration_error([1.0, 1.0], [False, True]) == 50.0
    assert calibration_error([], []) == 0.0


PRACTICE = Path("models/training/kbert/practice.toml")


def test_every_relation_has_the_words_of_every_writer() -> None:
    relations = {*Pack.load(WORLD).relations, *tomllib.loads(PRACTICE.read_text("utf-8"))}
    assert set(read_phrasings()) == relations
    for hand in HANDS:
        for phrasings in read_phrasings([hand]).values():
            assert len(phrasings.questions) == 8
            assert len(phrasings.nouns) == 3
            assert all(text.count("{subject}") == 1 for text in (*phrasings.questions, *phrasings.nouns))


TEMPLATE = "Which currency does {subject} use?"


def draw(slip: float, bare: float) -> set[str]:
    rng = random.Random(1)
    return {retype(TEMPLATE, slip, bare, rng) for _ in range(200)}
