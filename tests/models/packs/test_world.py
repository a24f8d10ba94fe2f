"""The promises about the shipped pack, checked on the files themselves."""

import tomllib
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from models.packs.pack import WORLD, Item, Pack
from models.training.packs.selection import words


@pytest.fixture(scope="module")
def world() -> Pack:
    return Pack.load()


@pytest.fixture(scope="module")
def items(world: Pack) -> list[Item]:
    return list(world.items())


@pytest.fixture(scope="module")
def by_relation(items: list[Item]) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.relation.id].append(item)
    return groups


def test_the_capital_of_peru_is_lima(by_relation: dict[str, list[Item]]) -> None:
    assert [item.answer for item in by_relation["capital"] if item.subject.label == "Peru"] == ["Lima"]


def test_it_is_of_a_size_that_trains_in_an_hour(
    items: list[Item], by_relation: dict[str, list[Item]]
) -> None:
    assert 12_000 <= len(items) <= 13_000
    assert 42 <= len(by_relation) <= 50
    assert max(len(group) for group in by_relation.values()) <= 330
    assert sum(file.stat().st_size for file in WORLD.iterdir()) < 2_500_000


def test_every_relation_is_asked(world: Pack, by_relation: dict[str, list[Item]]) -> None:
    assert set(by_relation) == set(world.relations)
    assert min(len(group) for group in by_relation.values()) >= 90


def test_the_counts_it_states_are_true(world: Pack, items: list[Item]) -> None:
    section = tomllib.loads((WORLD / "pack.toml").read_text("utf-8"))["counts"]
    assert section == {
        "relations": len(world.relations),
        "items": len(items),
        "entities": len(world.entities),
        "facts": len(world.facts),
        "strangers": len(world.strangers),
        "probes": len(world.probes),
    }


def test_every_file_is_under_its_digest() -> None:
    section = tomllib.loads((WORLD / "pack.toml").read_text("utf-8"))["files"]
    written_by_hand_or_itself = {"README.md", "pack.toml", "phrasings"}
    assert set(section) == {file.name for file in WORLD.iterdir()} - written_by_hand_or_itself


def test_labels_and_answers_can_be_typed_and_generated(items: list[Item]) -> None:
    for item in items:
        assert 2 <= len(item.subject.label) <= 40
        longest = 80 if item.relation.cardinality == "many" else 40
        assert 1 <= len(item.answer) <= longest
        assert (item.subject.label + item.answer).isprintable()


def test_facts_and_entities_are_sorted(world: Pack) -> None:
    rows = [(fact.subject_id, fact.relation_id, fact.object) for fact in world.facts]
    assert all(first < second for first, second in pairwise(rows))
    assert list(world.entities) == sorted(world.entities)


def test_every_entity_is_in_a_fact(world: Pack) -> None:
    fact_ids = {fact.subject_id for fact in world.facts} | {fact.object_id for fact in world.facts}
    assert set(world.entities) == fact_ids - {None}


def test_an_object_is_an_entity_unless_its_relation_asks_for_a_number_or_a_text(world: Pack) -> None:
    for fact in world.facts:
        literal = world.relations[fact.relation_id].object_type in ("number", "text")
        assert (fact.object_id is None) == literal


def test_only_city_states_and_antarctica_answer_with_their_own_name(items: list[Item]) -> None:
    echoes = {(i.relation.id, i.answer) for i in items if i.subject.label.casefold() == i.answer.casefold()}
    assert {relation for relation, _ in echoes} == {"capital", "continent"}
    assert ("capital", "Luxembourg") in echoes


def test_no_answer_dominates_its_relation(by_relation: dict[str, list[Item]]) -> None:
    for relation, group in by_relation.items():
        _, count = Counter(item.answer for item in group).most_common(1)[0]
        assert count <= 0.35 * len(group), relation


def test_most_questions_are_about_subjects_that_are_asked_several_things(items: list[Item]) -> None:
    questions = Counter(item.subject.id for item in items)
    assert sum(questions[item.subject.id] > 1 for item in items) > 0.6 * len(items)


def test_no_question_is_worded_like_one_of_another_relation(world: Pack) -> None:
    owners: dict[tuple[str, ...], str] = {}
    for relation in world.relations.values():
        for template in relation.phrasings + relation.held_out:
            wording = words(template.replace("{subject}", "SUBJECT"))
            assert owners.setdefault(wording, relation.id) == relation.id


def test_no_held_phrasing_is_a_trained_one_with_other_punctuation(world: Pack) -> None:
    for relation in world.relations.values():
        trained = {words(template) for template in relation.phrasings}
        assert trained.isdisjoint(words(template) for template in relation.held_out), relation.id


def test_every_relation_is_asked_as_a_question_a_possessive_and_keywords(world: Pack) -> None:
    for relation in world.relations.values():
        assert relation.phrasings[0].endswith("?")
        assert any(template.startswith("{subject}'s ") for template in relation.phrasings), relation.id
        assert any(template[-1] not in "?." for template in relation.phrasings), relation.id
        assert any(template.endswith(".") for template in relation.phrasings), relation.id


def test_the_phrasings_that_are_spoken_of_elsewhere_are_there(world: Pack) -> None:
    capital = world.relations["capital"]
    assert capital.phrasings[0] == "What is the capital of {subject}?"
    assert "{subject}'s capital city?" in capital.held_out


def test_a_country_is_found_by_the_names_people_use(world: Pack) -> None:
    names = {name: entity.id for entity in world.entities.values() for name in entity.names}
    assert names["USA"] == names["United States"] == names["United States of America"] == "Q30"
    assert names["UK"] == names["Great Britain"] == "Q145"
    assert names["Burma"] == names["Myanmar"]


def test_there_are_118_elements(world: Pack) -> None:
    assert sum(entity.type == "element" for entity in world.entities.values()) == 118


def test_no_stranger_is_known_not_even_in_part(world: Pack) -> None:
    known_names = {words(name) for entity in world.entities.values() for name in entity.names}
    known_names = (known_names | {words(fact.object) for fact in world.facts}) - {()}
    for stranger in world.strangers:
        label_words = words(stranger.subject)
        spans = {
            label_words[a:b] for a in range(len(label_words)) for b in range(a + 1, len(label_words) + 1)
        }
        assert spans.isdisjoint(known_names), stranger


def test_strangers_are_spread_over_relations_and_split_in_halves(world: Pack) -> None:
    assert 1400 <= len(world.strangers) <= 1500
    assert len({stranger.subject.casefold() for stranger in world.strangers}) == len(world.strangers)
    halves = Counter((stranger.relation_id, stranger.split) for stranger in world.strangers)
    assert len({relation for relation, _ in halves}) >= 20
    assert all(halves[relation, "tune"] == halves[relation, "test"] for relation, _ in halves)


def test_probes_ask_about_every_relation_and_have_the_answer_of_the_pack(
    world: Pack, items: list[Item]
) -> None:
    answers = {(item.subject.id, item.relation.id): item.answer for item in items}
    assert len(world.probes) == 200
    assert {probe.relation_id for probe in world.probes} == set(world.relations)
    for probe in world.probes:
        relation, subject = world.relations[probe.relation_id], world.entities[probe.subject_id]
        assert answers[probe.subject_id, probe.relation_id] == probe.answer
        assert probe.question in [relation.question(subject.label, n) for n in range(len(relation.phrasings))]
