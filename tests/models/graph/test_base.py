"""The graph before any edit, and the labels of relations that it does not know."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.graph.base import Base, digest_of, to_words
from models.graph.memory import GraphMemory
from models.packs.pack import Pack


@pytest.fixture(scope="module")
def base() -> Base:
    return Base.of()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("place_of_birth", "place of birth"),
        ("placeOfBirth", "place of birth"),
        ("place-of-birth", "place of birth"),
        ("  odd__name ", "odd name"),
        ("P36", "P36"),
        ("HTTPServer", "HTTPServer"),
        ("isBN", "is bN"),
        ("___", "___"),
        ("столицаСтраны", "столица страны"),
        ("首都", "首都"),
        ("motto", "motto"),
    ],
)
def test_a_relations_name_is_said_in_words(name: str, words: str) -> None:
    assert to_words(name) == words


def test_every_fact_and_name_of_the_pack_is_told(base: Base) -> None:
    pack, memory = Pack.load(), GraphMemory(base)
    view = memory.view(memory.base)
    for entity in pack.entities.values():
        view_entity = view.entity(entity.id)
        assert view_entity is not None
        assert (view_entity.label, view_entity.aliases) == (entity.label, entity.aliases)
    statements = {
        (id, f.relation, f.object, f.object_id) for id in base.statements for f in view.entity(id).facts
    }  # type: ignore[union-attr]
    assert statements == {(f.subject_id, f.relation_id, f.object, f.object_id or "") for f in pack.facts}


def test_a_relation_of_the_pack_is_known_and_any_other_may_hold_many(base: Base) -> None:
    capital = base.relations["capital"]
    assert (base.label("capital"), base.cardinality("capital")) == (capital.label, capital.cardinality)
    assert (base.label("sungBy"), base.cardinality("sungBy")) == ("sung by", "many")


def test_the_digest_is_of_all_that_answers_rest_on(base: Base) -> None:
    assert Base.of().digest == base.digest
    statements = {id: list(row) for id, row in base.statements.items()}
    fewer = {**statements, next(iter(statements)): []}
    other = replace(base.relations["capital"], label="seat")
    sums = {
        base.digest,
        digest_of(fewer, base.relations),
        digest_of(statements, {**base.relations, "capital": other}),
    }
    assert len(sums) == 3
