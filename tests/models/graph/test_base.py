"""The graph before any edit, and the labels of relations that it does not know.

A neighbourhood grows a hop at a time and stops at its bounds.
An entity is the fold of its statements, in order; nothing is overwritten, so every statement can be taken back.
"""

from dataclasses import replace

import pytest

from models.graph.base import Base, digest_of, to_words
from models.graph.in_edges import InEdge, in_edges_of_entities, interleave
from models.graph.knowledge import Entity, Fact
from models.graph.memory import GraphMemory
from models.graph.neighbours import Neighbourhood, Reach
from models.graph.statement import (
    ALIAS,
    DESCRIPTION,
    HOLDS,
    LABEL,
    SourceStatements,
    Statement,
    Value,
    fold,
    fold_entity,
)
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


def entity(id: str, *targets: str) -> Entity:
    return Entity(id, id, facts=tuple(Fact("knows", "knows", target, target) for target in targets))


GRAPH = {
    e.id: e for e in (entity("a", "b", "c"), entity("b", "d", "a"), entity("c", "gone", ""), entity("d"))
}


def read(reach: Reach, *start: str) -> tuple[list[str], list[list[str]]]:
    """Return the entities that were found, and those that each hop asked for."""
    area, hops = Neighbourhood(start, reach), list[list[str]]()
    while area.frontier:
        hops.append(area.frontier)
        in_edges = in_edges_of_entities(GRAPH.values()) if reach.fan_in else None
        area.advance({id: GRAPH.get(id) for id in area.frontier}, in_edges)
    return list(area.entities), hops


def test_each_hop_asks_once_for_what_the_facts_of_the_last_one_lead_to() -> None:
    assert read(Reach(3, 8, 8), "a") == (["a", "b", "c", "d"], [["a"], ["b", "c"], ["d", "gone"]])


def test_the_end_of_the_longest_path_is_not_read() -> None:
    assert read(Reach(1, 8, 8), "a")[1] == [["a"]]
    assert read(Reach(2, 8, 8), "a")[1] == [["a"], ["b", "c"]]


def test_facts_and_entities_beyond_the_bounds_are_not_followed() -> None:
    assert read(Reach(3, 1, 8), "a")[0] == ["a", "b", "d"]
    assert read(Reach(3, 8, 2), "a") == (["a", "b"], [["a"], ["b"]])
    assert read(Reach(3, 8, 1), "a", "b")[0] == ["a"]


def test_nothing_lies_around_nothing() -> None:
    assert read(Reach(3, 8, 8)) == ([], [])


def test_with_a_fan_in_a_step_leads_from_an_object_to_its_subjects() -> None:
    assert read(Reach(1, 8, 8, fan_in=8), "d") == (["d", "b"], [["d"], ["b"]])
    assert read(Reach(2, 8, 8, fan_in=8), "d") == (["d", "b", "a"], [["d"], ["b"], ["a"]])
    assert read(Reach(2, 8, 8), "d")[0] == ["d"]


def test_subjects_beyond_the_bounds_are_not_followed() -> None:
    graph = [entity("x", "hub"), entity("y", "hub")]
    edges = in_edges_of_entities(graph)
    area = Neighbourhood(["hub"], Reach(1, 8, 8, fan_in=1))
    area.advance({"hub": entity("hub")}, edges)
    assert area.frontier == ["x"]
    full = Neighbourhood(["hub"], Reach(1, 8, 1, fan_in=8))
    full.advance({"hub": entity("hub")}, edges)
    assert full.frontier == []


def test_a_bound_leaves_something_of_every_relation() -> None:
    born = [InEdge("birthplace", str(number)) for number in range(5)]
    capital = InEdge("capital", "peru")
    assert interleave([*born, capital, born[0]])[:2] == (born[0], capital)
    assert set(interleave([*born, capital, born[0]])) == {*born, capital}


def values_of(*statements: Statement) -> dict[str, list[str]]:
    statements = fold([SourceStatements("e", statements)])
    return {relation: [value.object for value in values.values()] for relation, values in statements.items()}


def peru(*sources: SourceStatements) -> Entity | None:
    return fold_entity("Q419", sources, str.upper, {"Q2868": "City of Kings"})


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("a+ b+", "a b"),
        ("a+ b+ a+", "a b"),
        ("a+ b=", "b"),
        ("a+ b= c+", "b c"),
        ("a+ b+ a-", "b"),
        ("a+ a- a+", "a"),
        ("a+ b+ a- a+", "b a"),
        ("a?", "a"),
        ("a+ b?", "a"),
        ("a+ a- b?", "b"),
        ("a? b?", "a"),
        ("a? b+", "a b"),
        ("a+ A-", "a"),
        ("a-", ""),
        ("a+ a-", ""),
        ("a- a-", ""),
    ],
)
def test_values_are_told_in_order_and_a_relation_without_values_is_none(
    statements: str, expected: str
) -> None:
    acts = {"+": "add", "=": "set", "-": "remove", "?": "default"}
    values = values_of(*(Statement("r", text[0], "", acts[text[1]]) for text in statements.split()))  # type: ignore[arg-type]
    assert values == ({"r": expected.split()} if expected else {})


def test_to_remove_nothing_in_particular_removes_all_and_of_one_relation_only() -> None:
    statements = (
        Statement("r", "a"),
        Statement("r", "b"),
        Statement("s", "a"),
        Statement("r", "", "", "remove"),
    )
    assert values_of(*statements) == {"s": ["a"]}


def test_an_entity_that_is_called_otherwise_now_is_removed_under_its_new_name() -> None:
    """A curator who removes it has seen the new name."""
    statements = (Statement("r", "Lima", "Q2868"), Statement("r", "City of Kings", "Q2868", "remove"))
    assert values_of(*statements) == {}


def test_the_last_who_says_a_value_answers_for_it() -> None:
    sources = [SourceStatements("", (Statement("r", "a"),)), SourceStatements("e1", (Statement("r", "a"),))]
    assert list(fold(sources)["r"].values()) == [Value("a", "", "e1")]


def test_an_entity_has_its_newest_label_and_description_and_all_aliases_but_the_label() -> None:
    folded_entity = peru(
        SourceStatements(
            "", (Statement(LABEL, "Peru"), Statement(ALIAS, "Birú"), Statement(DESCRIPTION, "old"))
        ),
        SourceStatements(
            "e1", (Statement(LABEL, "Birú", "", "set"), Statement(DESCRIPTION, "new", "", "set"))
        ),
        SourceStatements("e2", (Statement(ALIAS, "Perú"), Statement(HOLDS, "one"))),
    )
    assert folded_entity == Entity("Q419", "Birú", ("Perú",), "new", ())
    assert folded_entity.names == ("Birú", "Perú")


def test_an_object_is_called_as_it_is_called_now_and_a_relation_as_people_do() -> None:
    folded_entity = peru(
        SourceStatements("", (Statement("capital", "Lima", "Q2868"), Statement("motto", "Lima")))
    )
    assert folded_entity is not None
    assert [(fact.label, fact.object) for fact in folded_entity.facts] == [
        ("CAPITAL", "City of Kings"),
        ("MOTTO", "Lima"),
    ]


def test_an_entity_of_which_nothing_is_left_is_none_and_one_without_a_label_has_its_id() -> None:
    assert peru() is None
    assert (
        peru(
            SourceStatements("", (Statement(LABEL, "Peru"),)),
            SourceStatements("e", (Statement(LABEL, "Peru", "", "remove"),)),
        )
        is None
    )
    nameless = peru(SourceStatements("", (Statement("r", "a"),)))
    assert nameless is not None
    assert (nameless.label, nameless.degree) == ("Q419", 1)


def test_an_entity_may_speak_of_itself() -> None:
    folded_entity = fold_entity(
        "Q2868", [SourceStatements("", (Statement("r", "Lima", "Q2868"),))], str, {"Q2868": "City of Kings"}
    )
    assert folded_entity is not None
    assert folded_entity.facts[0].object == "City of Kings"
