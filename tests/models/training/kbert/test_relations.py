"""The relations of training: they are split once and for all, and no practice relation is held out."""

import random
from collections import Counter

import pytest

from models.packs.pack import Pack
from models.training.kbert.plan import DEFAULT as PLAN
from models.training.kbert.relations import GROUPS, RelationText, draw_held_out, fits, split_relations
from models.training.kbert.world import invent

HELD_OUT = ["position_played", "named_after", "author", "calling_code", "atomic_number"]


@pytest.fixture(scope="module")
def pack() -> Pack:
    return Pack.load()


def test_five_varied_relations_are_held_out_and_stay_the_same(pack: Pack) -> None:
    assert draw_held_out(pack, PLAN.seed) == HELD_OUT
    assert len(HELD_OUT) == len(GROUPS)


def test_the_parts_share_no_relation_and_no_wording(pack: Pack) -> None:
    split = split_relations(pack, PLAN.seed, PLAN.n_tuning)
    assert list(split.held_out) == HELD_OUT
    assert len(split.tune) == PLAN.n_tuning
    assert all(relation.is_practice for relation in split.tune.values())
    parts = [split.train, split.tune, split.held_out]
    ids = Counter(id for part in parts for id in part)
    assert set(ids.values()) == {1}
    wordings = [{text.casefold() for r in part.values() for text in r.phrasings} for part in parts]
    assert not wordings[0] & wordings[1]
    assert not wordings[2] & (wordings[0] | wordings[1])
    labels = [{text.casefold() for r in part.values() for text in r.labels} for part in parts]
    assert not labels[2] & (labels[0] | labels[1])


def test_every_practice_relation_can_be_asked_and_answered(pack: Pack) -> None:
    split = split_relations(pack, PLAN.seed, PLAN.n_tuning)
    types = {entity.type for entity in pack.entities.values()} | {"any", "agent"}
    for relation in (*split.train.values(), *split.tune.values()):
        assert all(text.count("{subject}") == 1 for text in relation.phrasings)
        if relation.is_practice:
            assert len(relation.phrasings) >= 2
            assert relation.object in types or invent(relation.object, random.Random(1))


@pytest.mark.parametrize(
    ("subject", "type", "expected"),
    [
        ("person", "person", True),
        ("any", "element", True),
        ("place", "country", True),
        ("element", "person", False),
        ("agent", "organization", True),
    ],
)
def test_a_relation_fits_a_type(subject: str, type: str, expected: bool) -> None:
    assert fits(RelationText("r", ("r",), subject, "any", ()), type) is expected
