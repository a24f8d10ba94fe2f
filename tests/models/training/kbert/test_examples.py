"""What is practised on: the answer can only be read off the tree, and nothing that is held out is in it."""

import pytest

from models.packs.pack import Pack
from models.training.kbert.examples import Example, Examples
from models.training.kbert.plan import DEFAULT as PLAN
from models.training.kbert.relations import relations
from models.training.kbert.world import World, world

STEPS = 12


@pytest.fixture(scope="module")
def around() -> World:
    pack = Pack.load()
    split = relations(pack, PLAN.seed, PLAN.tuned)
    ids = list(split.train)
    return world(pack, split, PLAN.entities, PLAN.seed, {id: [one for one in ids if one != id] for id in ids})


@pytest.fixture(scope="module")
def steps(around: World) -> tuple[list[Example], list[Example], list[Example]]:
    examples = Examples(around, PLAN.mixture, PLAN.seed)
    made = [examples.step(number) for number in range(STEPS)]
    return tuple([one for step in made for one in step[kind]] for kind in range(3))  # type: ignore[return-value]


def test_a_step_is_always_the_same(around: World) -> None:
    first, second = (Examples(around, PLAN.mixture, PLAN.seed).step(3) for _ in range(2))
    assert first == second
    assert Examples(around, PLAN.mixture, PLAN.seed).step(4) != first


def test_the_target_is_a_fact_of_the_tree_or_missing_from_it(steps: tuple[list[Example], ...]) -> None:
    for one in steps[0]:
        facts = [fact for mention in one.mentions for entity in mention.entities for fact in entity.facts]
        assert facts
        if one.target is not None:
            assert any(fact is one.target for fact in facts)
    missing = sum(one.target is None for one in steps[0]) / len(steps[0])
    assert abs(missing - PLAN.mixture.absent) < 0.1


def test_mentions_stand_where_they_say(steps: tuple[list[Example], ...]) -> None:
    for one in (*steps[0], *steps[1], *steps[2]):
        for mention in one.mentions:
            assert one.question[mention.start : mention.end] == mention.entities[0].label


def test_a_span_is_the_answer_and_stands_in_the_text(steps: tuple[list[Example], ...]) -> None:
    with_span = [one for one in steps[1] if one.span is not None]
    assert 0.4 < len(with_span) / len(steps[1]) < 0.8
    for one in with_span:
        assert one.second is not None
        assert one.span is not None
        assert one.second[slice(*one.span)].strip() == one.second[slice(*one.span)] != ""


def test_right_and_wrong_candidates_are_practised(steps: tuple[list[Example], ...]) -> None:
    right = sum(bool(one.fits) for one in steps[2])
    assert 0.45 < right / len(steps[2]) < 0.6


def test_nothing_that_is_held_out_is_seen(around: World, steps: tuple[list[Example], ...]) -> None:
    held_names = {around.entities[id].label for id in around.held}
    unseen = {label for one in around.relations.unseen.values() for label in one.labels}
    for one in (*steps[0], *steps[1], *steps[2]):
        assert one.about not in around.relations.unseen
        for mention in one.mentions:
            assert mention.entities[0].label not in held_names
            assert not {fact.label for fact in mention.entities[0].facts} & unseen
