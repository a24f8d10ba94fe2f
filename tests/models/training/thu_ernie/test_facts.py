"""Rows rank the objects of facts, and entities that are edited or made up have rows that say so."""

import random

import torch

from models.training.thu_ernie.facts import World
from models.training.thu_ernie.plan import Plan


def test_subject_and_relation_lead_to_the_object(world: World) -> None:
    numbers, answers = world.triples.numbers, world.answers
    scores = (world.rows[numbers[:, 0]] + world.rows[numbers[:, 1]]) @ world.rows[answers].T
    n_right = 0
    for (subject, relation, _), row in zip(numbers.tolist(), scores, strict=True):
        same = (numbers[:, 0] == subject) & (numbers[:, 1] == relation)
        n_right += int(answers[row.argmax()]) in numbers[same, 2].tolist()
    assert n_right >= 0.9 * len(numbers)


def test_rows_of_entities_have_one_length_and_one_threshold(world: World, plan: Plan) -> None:
    lengths = world.rows[: world.triples.n_nodes, 1:].norm(dim=1)
    torch.testing.assert_close(lengths, torch.full_like(lengths, plan.translation.norm))
    first = world.rows[:, 0]
    assert first[: world.triples.n_nodes].unique().tolist() == [plan.translation.threshold]
    assert first[world.triples.n_nodes :].unique().tolist() == [0.0]


def test_an_edited_row_leads_to_the_new_object_and_still_to_the_others(world: World) -> None:
    rng = random.Random(4)
    n_follow = n_others = n_same = 0
    for id in list(world.facts)[:24]:
        relation = rng.choice([r for r, objects in world.facts[id].items() if len(objects) == 1])
        subject = world.edit(id, relation, rng)
        places = [place for objects in subject.facts.values() for place in objects]
        for other, objects in subject.facts.items():
            if other in ("neighbours", "languages"):
                continue
            best = places[int((world.rows[places] @ (subject.vector + world.step(other))).argmax())]
            if other == relation:
                n_follow += best in objects
            else:
                n_others += 1
                n_same += best in objects
    assert n_follow == 24
    assert n_same >= 0.95 * n_others > 30


def test_a_made_up_entity_has_the_relation_that_is_asked_for(world: World) -> None:
    rng = random.Random(1)
    for relation in world.objects:
        subject = world.make_up(relation, rng)
        assert set(subject.facts[relation]) <= set(world.objects[relation])
        assert subject.name == ""
        expected = [world.rows[o[0]] - world.step(r) for r, o in subject.facts.items()]
        torch.testing.assert_close(subject.vector, torch.stack(expected).mean(0))
