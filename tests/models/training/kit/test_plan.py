"""Plans are read from toml, change without changing the first one, and make configurations."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from models.training.__main__ import TRAININGS
from models.training.kit.plan import Plan, read_plan


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
