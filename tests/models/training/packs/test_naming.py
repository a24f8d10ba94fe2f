"""A label names one thing, and facts about another thing of that name are left out."""

import pytest

from models.packs.pack import Relation
from models.training.packs.naming import about_its_names, settle, unify
from models.training.packs.raw import RawFact, Source

Relations = dict[str, Relation]


def wikidata(subject_id: str, subject: str, relation: str, object_id: str, answer: str) -> RawFact:
    return RawFact(subject, relation, answer, Source.WIKIDATA, subject_id, object_id)


def entityquestions(subject: str, relation: str, answer: str) -> RawFact:
    return RawFact(subject, relation, answer, Source.ENTITYQUESTIONS)


def kept(facts: list[RawFact], relations: Relations) -> list[RawFact]:
    names = settle(facts, relations)
    return [fact for fact in facts if about_its_names(fact, names, relations)]


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("place", "country", "country"),
        ("any", "work", "work"),
        ("agent", "person", "person"),
        ("person", "work", None),
        ("country", "person", None),
    ],
)
def test_a_thing_has_the_narrower_of_two_types_whichever_comes_first(
    first: str, second: str, both: str | None
) -> None:
    assert unify(first, second) == unify(second, first) == both


def test_of_two_entities_with_one_label_the_one_with_more_facts_stays(relations: Relations) -> None:
    lovelace = wikidata("Q7259", "Ada", "place_of_birth", "Q84", "London")
    facts = [
        lovelace,
        wikidata("Q1", "Anna", "place_of_birth", "Q2", "Ada"),
        wikidata("Q3", "Berta", "place_of_birth", "Q2", "Ada"),
    ]
    assert kept(facts, relations) == facts[1:]


def test_a_label_without_id_that_must_be_two_things_is_dropped(relations: Relations) -> None:
    person_and_book = [
        entityquestions("Emma", "author", "Jane Austen"),
        entityquestions("Emma", "place_of_birth", "Oslo"),
        entityquestions("Anna", "place_of_birth", "Oslo"),
    ]
    assert kept(person_and_book, relations) == person_and_book[2:]


def test_a_label_without_id_means_the_known_entity_of_that_name_and_type(relations: Relations) -> None:
    facts = [
        wikidata("Q36322", "Jane Austen", "place_of_birth", "Q1", "Steventon"),
        entityquestions("Emma", "author", "Jane Austen"),
    ]
    assert kept(facts, relations) == facts
    assert settle(facts, relations)["jane austen"].id == "Q36322"


def test_a_known_city_is_not_taken_for_a_village_of_its_name(relations: Relations) -> None:
    facts = [
        wikidata("Q1", "Anna", "place_of_birth", "Q100", "Boston"),
        entityquestions("Boston", "capital", "Nowhere"),
    ]
    assert kept(facts, relations) == facts[:1]


def test_a_country_takes_its_wikidata_id_and_otherwise_keeps_its_own(relations: Relations) -> None:
    names = settle(
        [
            RawFact("Peru", "neighbours", "Chad", Source.REFERENCE, "iso:PE"),
            RawFact("Chad", "neighbours", "Peru", Source.REFERENCE, "iso:TD"),
            wikidata("Q1", "Anna", "place_of_birth", "Q419", "Peru"),
        ],
        relations,
    )
    assert (names["peru"].id, names["chad"].id) == ("Q419", "iso:TD")


def test_a_label_is_spelled_as_it_is_most_often(relations: Relations) -> None:
    facts = [
        entityquestions(name, "place_of_birth", town)
        for name, town in (("Anna", "OSLO"), ("Berta", "Oslo"), ("Clara", "Oslo"))
    ]
    assert settle(facts, relations)["oslo"].label == "Oslo"
