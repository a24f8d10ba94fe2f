"""The exam counts right answers, and its groups match their names."""

import random
from dataclasses import replace

import pytest

from models.graph.memory import GraphMemory
from models.relational.network import Config
from models.relational.system import RelationalSystem
from models.training.relational.compositions import Compositions
from models.training.relational.exam import PackQuestions, draw_groups, measure_group
from models.training.relational.examples import Example
from tests.models.training.relational.test_pack import BASE
from tests.models.training.relational.toy import MAKER, PLAN, RELATIONS, toy_model


@pytest.fixture(scope="module")
def drawings() -> dict[str, list[Example]]:
    plan = PLAN.change(n_exam=12)
    maker = replace(MAKER, compositions=Compositions(RELATIONS, 2, 0))
    memory = GraphMemory(BASE)
    pack = PackQuestions(
        memory.view(memory.base), MAKER.compositions, MAKER.wordings, PLAN.config.make(Config)
    )
    return dict(draw_groups(plan, maker, MAKER, pack))


def test_new_compositions_are_those_that_are_held_out(drawings: dict[str, list[Example]]) -> None:
    compositions = Compositions(RELATIONS, 2, 0)
    for hops in (2, 3):
        assert not any(compositions.is_held(example.path) for example in drawings[f"{hops} hops"])
        new = drawings[f"{hops} hops, new composition"]
        assert all(compositions.is_held(example.path) and len(example.path) == hops for example in new)


def test_the_exam_counts_right_and_faithful_answers() -> None:
    rng = random.Random("count")
    path = MAKER.compositions.draw(2, False, rng)
    first, *rest = [MAKER.make(path, rng, False) for _ in range(4)]
    system = RelationalSystem(toy_model())
    right = measure_group(system, [first, *rest])
    assert (right["right"], right["best"], right["faithful"]) == (100.0, 100.0, 100.0)
    assert measure_group(system, [replace(first, expected="?"), *rest])["right"] == 75.0
    assert measure_group(system, [replace(first, labels=("?",)), *rest])["faithful"] == 75.0
