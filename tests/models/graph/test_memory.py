"""The graph as a memory: a view that grows by commits is the one that is made from scratch, whatever the order."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.blocks import Block, Image
from models.graph.blocks import Manifest, manifest_block, read_manifest, read_statements, statements_block
from models.graph.memory import GraphMemory
from models.graph.statement import ALIAS, HOLDS, LABEL, RELATION, Statement
from models.graph.view import GraphView
from models.memory import Material
from tests.hypotheses import examples
from tests.service.toy_graph import base

IDS = ("Q419", "Q298", "Q2868", "n:new", RELATION + "capital", RELATION + "motto")
STATEMENTS = st.builds(
    Statement,
    st.sampled_from(("capital", "motto", LABEL, ALIAS, HOLDS)),
    st.sampled_from(("Lima", "Cusco", "one", "")),
    st.sampled_from(("", "Q2868", "Q419")),
    st.sampled_from(("add", "set", "remove", "default")),
)
ENTITY_STATEMENTS = st.dictionaries(
    st.sampled_from(IDS), st.lists(STATEMENTS, min_size=1, max_size=3).map(tuple), max_size=3
)


def manifest(name: str, relations: dict[str, str] | None = None) -> Manifest:
    return Manifest(name, 4, ("sha256:aa",), ("sha256:bb",), 3, 2, relations or {})


def make_block(number: int, statements: Any) -> Block:
    if isinstance(statements, str):
        return manifest_block(f"edit/e{number}", number, manifest(f"e{number}", {"motto": statements}))
    return statements_block(f"edit/e{number}", number, statements)


@pytest.fixture
def memory() -> GraphMemory:
    return GraphMemory(base())


def image(memory: GraphMemory, blocks: Sequence[Block]) -> Image:
    return memory.fold([Material(block.key.removeprefix("edit/"), "triple", block) for block in blocks])


def content(view: GraphView) -> tuple[Any, ...]:
    rows = {active.edit: (Statement("motto", active.edit, "Q2868"),) for active in view.imports}
    entities = {id: view.entity(id, rows) for id in IDS}
    relations = [(view.label(r), view.cardinality(r)) for r in ("capital", "motto")]
    in_edges = dict(view.in_edges_of_edits)
    return dict(view.edits), view.imports, dict(view.new_labels), in_edges, entities, relations


@examples(150)
@given(
    statements=st.lists(st.one_of(ENTITY_STATEMENTS, st.sampled_from(("maxim", ""))), min_size=1, max_size=7),
    steps=st.lists(st.sets(st.integers(0, 6)), min_size=1, max_size=6),
)
def test_a_view_is_the_same_however_it_was_come_by(statements: list[Any], steps: list[set[int]]) -> None:
    """The views go from any set of active edits to any other, forwards and back, in one step."""
    blocks = [make_block(number, row) for number, row in enumerate(statements)]
    living = GraphMemory(base())
    for step in [*steps, set()]:
        active = [blocks[number] for number in sorted(step) if number < len(blocks)]
        new_image = image(living, active)
        fresh = GraphMemory(base())
        assert content(living.view(new_image)) == content(fresh.view(new_image))
        assert new_image.checksum == image(fresh, active).checksum
    assert content(living.view(living.base)) == content(GraphMemory(base()).view(living.base))


def test_the_subjects_of_an_object_come_from_edits_base_and_imports(memory: GraphMemory) -> None:
    assert [edge.subject for edge in memory.view(memory.base).in_edges("Q2868")] == ["Q419"]
    edit = make_block(1, {"Q298": (Statement("capital", "Lima", "Q2868", "set"),)})
    view = memory.view(image(memory, [edit]))
    rows = [(Statement("birthplace", "", "Q17"),), (Statement("capital", "", "Q298"),)]
    edges = view.in_edges("Q2868", rows)
    assert edges == (("capital", "Q298"), ("birthplace", "Q17"), ("capital", "Q419"))
    assert memory.view(memory.base).in_edges("Q2868") == (("capital", "Q419"),)


def test_what_is_removed_or_no_entity_has_no_edge_back(memory: GraphMemory) -> None:
    statements = (Statement("capital", "Cusco", "Q5582862", "remove"), Statement("motto", "Cusco"))
    view = memory.view(image(memory, [make_block(1, {"Q298": statements})]))
    assert view.in_edges("Q5582862") == view.in_edges("") == ()


@given(statements=ENTITY_STATEMENTS)
def test_a_block_tells_what_it_was_told_and_equal_ones_have_equal_digests(statements: Any) -> None:
    block = statements_block("edit/a", 1, statements)
    assert read_statements(block) == statements
    assert statements_block("edit/b", 2, dict(reversed(statements.items()))).digest == block.digest
    assert (
        read_statements(Block.decode(block.encoded, key="edit/a", order=1, digest=block.digest)) == statements
    )


def test_a_manifest_is_read_as_it_was_written() -> None:
    expected = manifest("e1", {"motto": "maxim", "首都": "столица"})
    assert read_manifest(manifest_block("edit/e1", 1, expected)) == expected


def test_an_import_stands_between_the_edits_before_and_after_it(memory: GraphMemory) -> None:
    blocks = [
        make_block(1, {"Q419": (Statement("capital", "Cusco", "", "set"),)}),
        manifest_block("edit/e2", 2, manifest("e2")),
        make_block(3, {"Q419": (Statement("capital", "Puno"),)}),
    ]
    rows = {"e2": (Statement("capital", "Tacna", "", "set"), Statement(LABEL, "x", "", "default"))}
    entity = memory.view(image(memory, blocks)).entity("Q419", rows)
    assert entity is not None
    assert [(f.object, f.edit) for f in entity.facts if f.relation == "capital"] == [
        ("Tacna", "e2"),
        ("Puno", "e3"),
    ]
    assert entity.label == "Peru"


def test_a_label_that_was_taken_away_is_nobodys_name(memory: GraphMemory) -> None:
    statements = [
        {"Q2868": (Statement(LABEL, "Ciudad", "", "set"),)},
        {"Q2868": (Statement(LABEL, "Ciudad", "", "remove"),)},
    ]
    view = memory.view(image(memory, [make_block(n, row) for n, row in enumerate(statements)]))
    peru = view.entity("Q419")
    assert peru is not None
    assert "Ciudad" not in [fact.object for fact in peru.facts]


def test_a_relation_is_as_the_newest_edit_says_and_as_the_base_says_without_one(memory: GraphMemory) -> None:
    id = RELATION + "motto"
    statements = [
        {id: (Statement(HOLDS, "one", "", "set"), Statement(LABEL, "maxim", "", "set"))},
        {id: (Statement(HOLDS, "many", "", "set"),)},
        {RELATION + "capital": (Statement(HOLDS, "many", "", "set"),)},
    ]
    blocks = [make_block(n, row) for n, row in enumerate(statements)]
    views = [memory.view(image(memory, blocks[:count])) for count in range(4)]
    assert [(v.label("motto"), v.cardinality("motto")) for v in views] == [
        ("motto", "many"),
        ("maxim", "one"),
        ("maxim", "many"),
        ("maxim", "many"),
    ]
    assert [v.cardinality("capital") for v in views] == ["one", "one", "one", "many"]
    assert views[3].label("capital") == "capital"


def test_what_is_said_of_a_relation_makes_no_entity(memory: GraphMemory) -> None:
    id = RELATION + "motto"
    assert (
        memory.view(image(memory, [make_block(1, {id: (Statement(LABEL, "maxim", "", "set"),)})])).entity(id)
        is None
    )


def test_of_the_labels_that_imports_give_a_relation_the_newest_counts_and_an_edits_before_them(
    memory: GraphMemory,
) -> None:
    imports = [
        manifest_block(f"edit/e{n}", n, manifest(f"e{n}", {"P1": label})) for n, label in enumerate("ab", 1)
    ]
    edit = make_block(0, {RELATION + "P1": (Statement(LABEL, "mine", "", "set"),)})
    labels = [
        memory.view(image(memory, active)).label("P1")
        for active in ([], imports[:1], imports, [edit, *imports])
    ]
    assert labels == ["P1", "a", "b", "mine"]


def test_cycles_and_facts_of_oneself_are_as_good_as_any(memory: GraphMemory) -> None:
    statements = {
        "a": (Statement("knows", "B", "b"), Statement("knows", "A", "a")),
        "b": (Statement("knows", "A", "a"),),
    }
    view = memory.view(image(memory, [make_block(1, statements)]))
    for id, objects in (("a", ["b", "a"]), ("b", ["a"])):
        entity = view.entity(id)
        assert entity is not None
        assert [fact.object_id for fact in entity.facts] == objects


def test_only_the_base_and_edits_say_how_many_values_a_relation_holds(memory: GraphMemory) -> None:
    label_block = make_block(1, "maxim")
    view = memory.view(image(memory, [label_block]))
    assert "motto" in view.relations
    assert not view.is_defined("motto")
    holds_block = make_block(2, {RELATION + "motto": (Statement(HOLDS, "one"),)})
    assert memory.view(image(memory, [label_block, holds_block])).is_defined("motto")
