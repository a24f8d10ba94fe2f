"""Which entity a name means, and which of its facts are read."""

from models.graph.knowledge import Entity, Fact, Mention
from models.kbert.choice import choose, labels
from tests.models.kbert.told import KIM, with_facts

RANKS = {"place of birth": 0.9, "occupation": 0.2, "spouse": 0.4, "capital": 0.8, "area": 0.1}


def mention(*entities: Entity, start: int = 0, end: int = 7) -> Mention:
    return Mention(start, end, entities)


def test_relations_are_read_by_rank_and_the_rest_is_reported() -> None:
    (one,) = choose([mention(KIM)], [RANKS], most=2, words=4)
    assert [hung.label for hung in one.hung] == ["place of birth", "spouse"]
    assert [(lost.fact.object, lost.reason) for lost in one.left_out] == [("painter", "rank")]


def test_of_a_relation_that_holds_many_one_value_is_read_and_all_are_the_answer() -> None:
    country = with_facts(*((("borders", "borders", name)) for name in ("Spain", "Andorra", "Italy")))
    (one,) = choose([mention(country)], [{"borders": 0.7}], most=6, words=4)
    (hung,) = one.hung
    assert hung.answer == "Andorra, Italy, Spain"
    assert hung.branch.text == "borders Andorra"
    assert [(lost.fact.object, lost.reason) for lost in one.left_out] == [
        ("Italy", "value"),
        ("Spain", "value"),
    ]


def test_a_name_means_whom_the_question_fits_then_whom_the_graph_knows_best_then_the_first_id() -> None:
    state = with_facts(("capital", "capital", "Atlanta"), id="b")
    song = with_facts(("area", "area", "3"), ("occupation", "occupation", "song"), id="c")
    country = with_facts(("capital", "capital", "Tbilisi"), ("area", "area", "69,700"), id="d")
    twin = with_facts(("capital", "capital", "Tiflis"), ("area", "area", "1"), id="a")
    (one,) = choose([mention(state, song, country)], [RANKS], most=6, words=4)
    assert one.entity.id == "d"
    assert [other.entity.id for other in one.others] == ["b", "c"]
    (other,) = choose([mention(country, twin)], [RANKS], most=6, words=4)
    assert other.entity.id == "a"


def test_an_entity_may_be_its_own_object() -> None:
    (one,) = choose([mention(with_facts(("capital", "capital", "Kim Lee")))], [RANKS], most=6, words=4)
    assert one.hung[0].answer == "Kim Lee"


def test_facts_without_a_label_or_an_object_are_not_read() -> None:
    bad = Entity("e", "Kim Lee", facts=(Fact("x", " ", "Oslo"), Fact("capital", "capital", "\t")))
    assert labels(mention(bad)) == []
    (one,) = choose([mention(bad)], [{}], most=6, words=4)
    assert one.hung == ()
    assert [lost.reason for lost in one.left_out] == ["empty", "empty"]


def test_facts_hang_on_the_best_fitting_mentions_and_of_two_that_overlap_on_the_longer() -> None:
    capital = with_facts(("capital", "capital", "Lima"), id="peru", label="Peru")
    area = with_facts(("area", "area", "3"), id="short", label="Per")
    found = choose(
        [mention(capital, start=0, end=4), mention(area, start=0, end=3), mention(KIM, start=9, end=16)],
        [RANKS, RANKS, RANKS],
        most=6,
        words=1,
    )
    assert [(one.entity.id, len(one.hung)) for one in found] == [("peru", 0), ("p:kim", 3)]
    assert [lost.reason for lost in found[0].left_out] == ["mentions"]
