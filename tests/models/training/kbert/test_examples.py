"""Training examples: the answer can only be read from the tree, and no held-out part is in them."""

import pytest

from models.packs.pack import Pack
from models.training.kbert.examples import Example, Examples
from models.training.kbert.plan import DEFAULT as PLAN
from models.training.kbert.relations import split_relations
from models.training.kbert.world import World, build_world

STEPS = 12


@pytest.fixture(scope="module")
def world() -> World:
    pack = Pack.load()
    split = split_relations(pack, PLAN.seed, PLAN.n_tuning)
    ids = list(split.train)
    near = {id: [other for other in ids if other != id] for id in ids}
    return build_world(pack, split, PLAN.entities, PLAN.seed, near)


@pytest.fixture(scope="module")
def steps(world: World) -> tuple[list[Example], list[Example]]:
    examples = Examples(world, PLAN.mixture, PLAN.seed)
    all_steps = [examples.step(number) for number in range(STEPS)]
    return tuple([example for step in all_steps for example in step[kind]] for kind in range(2))  # type: ignore[return-value]


def test_a_step_is_always_the_same(world: World) -> None:
    first, second = (Examples(world, PLAN.mixture, PLAN.seed).step(3) for _ in range(2))
    assert first == second
    assert Examples(world, PLAN.mixture, PLAN.seed).step(4) != first


def test_the_target_is_a_fact_of_the_tree_or_missing_from_it(steps: tuple[list[Example], ...]) -> None:
    for example in steps[0]:
        facts = [fact for mention in example.mentions for entity in mention.entities for fact in entity.facts]
        assert facts
        if example.target is not None:
            assert any(fact is example.target for fact in facts)
    missing = sum(example.target is None for example in steps[0]) / len(steps[0])
    assert abs(missing - PLAN.mixture.absent) < 0.1


def test_mentions_stand_where_they_say(steps: tuple[list[Example], ...]) -> None:
    for example in (*steps[0], *steps[1]):
        for mention in example.mentions:
            assert example.question[mention.start : mention.end] == mention.entities[0].label


def test_right_and_wrong_candidates_are_practised(steps: tuple[list[Example], ...]) -> None:
    right = sum(bool(example.is_right) for example in steps[1])
    assert 0.45 < right / len(steps[1]) < 0.6


def test_nothing_that_is_held_out_is_seen(world: World, steps: tuple[list[Example], ...]) -> None:
    held_names = {world.entities[id].label for id in world.held_out}
    labels = {label for relation in world.relations.held_out.values() for label in relation.labels}
    for example in (*steps[0], *steps[1]):
        assert example.about not in world.relations.held_out
        for mention in example.mentions:
            assert mention.entities[0].label not in held_names
            assert not {fact.label for fact in mention.entities[0].facts} & labels
