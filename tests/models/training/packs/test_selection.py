"""Which questions go into the pack when there are too many."""

from collections import Counter

from models.packs.pack import Relation
from models.training.packs.raw import RawFact, Source
from models.training.packs.selection import Candidate, candidates, select

Relations = dict[str, Relation]


def birth(subject: str, town: str, source: Source = Source.ENTITYQUESTIONS) -> Candidate:
    return Candidate(subject, "place_of_birth", (town,), source)


def test_sources_that_contradict_each_other_leave_no_question(relations: Relations) -> None:
    facts = [
        RawFact("Anna", "place_of_birth", "Oslo", Source.WIKIDATA),
        RawFact("anna", "place_of_birth", "Bergen", Source.ENTITYQUESTIONS),
        RawFact("Berta", "place_of_birth", "Oslo", Source.WIKIDATA),
        RawFact("Berta", "place_of_birth", "OSLO", Source.ENTITYQUESTIONS),
    ]
    assert candidates(facts, relations) == [birth("berta", "Oslo", Source.WIKIDATA)]


def test_a_relation_with_many_objects_keeps_them_all(relations: Relations) -> None:
    facts = [RawFact("Peru", "neighbours", other, Source.REFERENCE) for other in ("Chile", "Bolivia")]
    assert candidates(facts, relations) == [
        Candidate("peru", "neighbours", ("Chile", "Bolivia"), Source.REFERENCE)
    ]


def test_an_answer_too_long_to_give_is_not_asked_for(relations: Relations) -> None:
    facts = [RawFact("Peru", "neighbours", "x" * 30 + str(n), Source.REFERENCE) for n in range(3)]
    assert candidates(facts, relations) == []


def test_the_reference_work_wins_over_the_other_sources(relations: Relations) -> None:
    facts = [
        RawFact("Peru", "capital", "Cusco", Source.ENTITYQUESTIONS),
        RawFact("Peru", "capital", "Lima", Source.REFERENCE),
        RawFact("Peru", "capital", "Arequipa", Source.WIKIDATA),
    ]
    assert candidates(facts, relations) == [Candidate("peru", "capital", ("Lima",), Source.REFERENCE)]


def test_subjects_with_two_relations_come_before_known_names_with_one() -> None:
    known = [birth(f"known {n}", f"town {n}", Source.WIKIDATA) for n in range(20)]
    twice = [birth(f"twice {n}", f"city {n}") for n in range(10)]
    also = [Candidate(c.subject, "author", c.answers, c.source) for c in twice]
    chosen = select([*known, *twice, *also], {"place_of_birth": 10, "author": 10})
    assert {candidate.subject for candidate in chosen} == {candidate.subject for candidate in twice}


def test_known_names_come_before_others() -> None:
    unknown = [birth(f"unknown {n}", f"town {n}") for n in range(20)]
    known = [birth(f"known {n}", f"city {n}", Source.WIKIDATA) for n in range(10)]
    assert set(select([*unknown, *known], {"place_of_birth": 10})) == set(known)


def test_no_answer_is_given_to_more_than_35_in_100() -> None:
    found = [birth(f"person {n}", "Paris" if n % 10 < 9 else f"town {n}") for n in range(200)]
    chosen = select(found, {"place_of_birth": 100})
    assert 0 < Counter(c.answers for c in chosen)["Paris",] <= 0.35 * len(chosen)


def test_the_choice_does_not_depend_on_the_order_of_the_candidates() -> None:
    found = [birth(f"person {n}", f"town {n % 40}") for n in range(200)]
    most = {"place_of_birth": 50}
    assert set(select(found, most)) == set(select(found[::-1], most))
