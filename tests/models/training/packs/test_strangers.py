"""A stranger shares no whole name with the pack."""

import pytest

from models.training.packs.raw import RawFact, Source
from models.training.packs.strangers import Known, strangers

KNOWN = Known(["Paris", "New York City", "Ana"])


@pytest.mark.parametrize(
    "label", ["paris", "Paris Hilton", "Little Paris Bakery", "New York City Ballet", "York"]
)
def test_a_name_that_holds_or_is_held_by_a_known_name_is_not_strange(label: str) -> None:
    assert KNOWN.touches(label)


@pytest.mark.parametrize("label", ["Parisian", "New Jersey", "City York New", "Anabel"])
def test_a_name_that_only_looks_alike_is_strange(label: str) -> None:
    assert not KNOWN.touches(label)


def test_each_relation_has_equally_many_and_each_half_as_many_as_the_other() -> None:
    facts = [
        RawFact(f"Person {relation} {n}", relation, "Oslo", Source.ENTITYQUESTIONS)
        for relation in ("author", "founder", "owner")
        for n in range(30)
    ]
    drawn = strangers(facts, ["Oslo"], set(), most=60)
    counts = {(s.relation_id, s.split): 0 for s in drawn}
    for stranger in drawn:
        counts[stranger.relation_id, stranger.split] += 1
    assert len(counts) == 6
    assert set(counts.values()) == {10}


def test_a_name_is_drawn_once_though_it_has_several_relations() -> None:
    facts = [RawFact("Anna", relation, "Oslo", Source.ENTITYQUESTIONS) for relation in ("author", "owner")]
    assert len(strangers(facts, [], set(), most=100)) == 1
