"""The promises about the shipped pack, checked on the files themselves."""

import tomllib
from collections import defaultdict

import pytest

from models.packs.pack import WORLD, Item, Pack
from models.training.packs.cleaning import words


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


def test_no_held_phrasing_is_a_trained_one_with_other_punctuation(world: Pack) -> None:
    for relation in world.relations.values():
        trained = {words(template) for template in relation.phrasings}
        assert trained.isdisjoint(words(template) for template in relation.held_out), relation.id


def test_a_country_is_found_by_the_names_people_use(world: Pack) -> None:
    names = {name: entity.id for entity in world.entities.values() for name in entity.names}
    assert names["USA"] == names["United States"] == names["United States of America"] == "Q30"
    assert names["UK"] == names["Great Britain"] == "Q145"
    assert names["Burma"] == names["Myanmar"]


def test_no_stranger_is_known_not_even_in_part(world: Pack) -> None:
    known_names = {words(name) for entity in world.entities.values() for name in entity.names}
    known_names = (known_names | {words(fact.object) for fact in world.facts}) - {()}
    for stranger in world.strangers:
        label_words = words(stranger.subject)
        spans = {
            label_words[a:b] for a in range(len(label_words)) for b in range(a + 1, len(label_words) + 1)
        }
        assert spans.isdisjoint(known_names), stranger


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
