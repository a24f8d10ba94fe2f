"""The graph as a memory: a view that grows by commits is the one that is made from scratch, whatever the order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.graph.blocks import Manifest, manifest_block, read_manifest, read_statements, statements_block
from models.graph.memory import GraphMemory
from models.graph.statement import ALIAS, HOLDS, LABEL, RELATION, Statement
from models.graph.view import GraphView
from models.memory import Block, Image, Material
from tests.service.toy_graph import base

IDS = ("Q419", "Q298", "Q2868", "n:new", RELATION + "capital", RELATION + "motto")
STATEMENTS = st.builds(
    Statement,
    st.sampled_from(("capital", "motto", LABEL, ALIAS, HOLDS)),
    st.sampled_from(("Lima", "Cusco", "one", "")),
    st.sampled_from(("", "Q2868", "Q419")),
    st.sampled_from(("add", "set", "remove", "default")),
)
TOLD = st.dictionaries(
    st.sampled_from(IDS), st.lists(STATEMENTS, min_size=1, max_size=3).map(tuple), max_size=3
)


def manifest(name: str, relations: dict[str, str] | None = None) -> Manifest:
    return Manifest(name, 4, ("sha256:aa",), ("sha256:bb",), 3, 2, relations or {})


def block(number: int, told: Any) -> Block:
    if isinstance(told, str):
        return manifest_block(f"edit/e{number}", number, manifest(f"e{number}", {"motto": told}))
    return statements_block(f"edit/e{number}", number, told)


@pytest.fixture
def memory() -> GraphMemory:
    return GraphMemory(base())


def image(memory: GraphMemory, blocks: Sequence[Block]) -> Image:
    return memory.fold([Material(one.key.removeprefix("edit/"), "triple", one) for one in blocks])


def content(view: GraphView) -> tuple[Any, ...]:
    rows = {one.edit: (Statement("motto", one.edit, "Q2868"),) for one in view.imports}
    entities = {id: view.entity(id, rows) for id in IDS}
    relations = [(view.label(r), view.cardinality(r)) for r in ("capital", "motto")]
    return dict(view.edits), view.imports, dict(view.new_labels), entities, relations


@settings(max_examples=150)
@given(
    told=st.lists(st.one_of(TOLD, st.sampled_from(("maxim", ""))), min_size=1, max_size=7),
    steps=st.lists(st.sets(st.integers(0, 6)), min_size=1, max_size=6),
)
def test_a_view_is_the_same_however_it_was_come_by(told: list[Any], steps: list[set[int]]) -> None:
    """From any set of active edits to any other, forwards and back, in one step."""
    blocks = [block(number, one) for number, one in enumerate(told)]
    living = GraphMemory(base())
    for step in [*steps, set()]:
        active = [blocks[number] for number in sorted(step) if number < len(blocks)]
        wanted = image(living, active)
        fresh = GraphMemory(base())
        assert content(living.view(wanted)) == content(fresh.view(wanted))
        assert wanted.checksum == image(fresh, active).checksum
    assert content(living.view(living.base)) == content(GraphMemory(base()).view(living.base))


@given(told=TOLD)
def test_a_block_tells_what_it_was_told_and_equal_ones_have_equal_digests(told: Any) -> None:
    one = statements_block("edit/a", 1, told)
    assert read_statements(one) == told
    assert statements_block("edit/b", 2, dict(reversed(told.items()))).digest == one.digest
    assert read_statements(Block.decode(one.encoded, key="edit/a", order=1, digest=one.digest)) == told


def test_a_manifest_is_read_as_it_was_written() -> None:
    said = manifest("e1", {"motto": "maxim", "首都": "столица"})
    assert read_manifest(manifest_block("edit/e1", 1, said)) == said


def test_an_image_remembers_neither_what_was_undone_nor_how_many_commits_there_were(
    memory: GraphMemory,
) -> None:
    told = {"Q419": (Statement("capital", "Cusco", "", "set"),)}
    early, late = (image(memory, [statements_block("edit/e", order, told)]) for order in (1, 900_000))
    assert early.checksum == late.checksum != memory.base.checksum


def test_the_order_of_two_edits_is_in_the_checksum(memory: GraphMemory) -> None:
    told = [{"Q419": (Statement("capital", name, "", "set"),)} for name in ("Cusco", "Puno")]
    sums = {
        image(memory, [statements_block(f"edit/{n}", n, one) for n, one in enumerate(order)]).checksum
        for order in (told, told[::-1])
    }
    assert len(sums) == 2


def test_a_view_that_is_held_does_not_change_when_the_next_is_made(memory: GraphMemory) -> None:
    first = image(memory, [block(1, {"Q419": (Statement("capital", "Cusco", "", "set"),)})])
    held = memory.view(first)
    before = content(held)
    memory.view(memory.base)
    memory.view(image(memory, [block(2, {"Q419": (Statement(LABEL, "Birú", "", "set"),)})]))
    assert content(held) == before


def test_an_import_stands_between_the_edits_before_and_after_it(memory: GraphMemory) -> None:
    blocks = [
        block(1, {"Q419": (Statement("capital", "Cusco", "", "set"),)}),
        manifest_block("edit/e2", 2, manifest("e2")),
        block(3, {"Q419": (Statement("capital", "Puno"),)}),
    ]
    rows = {"e2": (Statement("capital", "Tacna", "", "set"), Statement(LABEL, "x", "", "default"))}
    found = memory.view(image(memory, blocks)).entity("Q419", rows)
    assert found is not None
    assert [(f.object, f.edit) for f in found.facts if f.relation == "capital"] == [
        ("Tacna", "e2"),
        ("Puno", "e3"),
    ]
    assert found.label == "Peru"


def test_a_label_that_was_taken_away_is_nobodys_name(memory: GraphMemory) -> None:
    told = [
        {"Q2868": (Statement(LABEL, "Ciudad", "", "set"),)},
        {"Q2868": (Statement(LABEL, "Ciudad", "", "remove"),)},
    ]
    view = memory.view(image(memory, [block(n, one) for n, one in enumerate(told)]))
    peru = view.entity("Q419")
    assert peru is not None
    assert "Ciudad" not in [fact.object for fact in peru.facts]


def test_a_relation_is_as_the_newest_edit_says_and_as_the_base_says_without_one(memory: GraphMemory) -> None:
    id = RELATION + "motto"
    told = [
        {id: (Statement(HOLDS, "one", "", "set"), Statement(LABEL, "maxim", "", "set"))},
        {id: (Statement(HOLDS, "many", "", "set"),)},
        {RELATION + "capital": (Statement(HOLDS, "many", "", "set"),)},
    ]
    blocks = [block(n, one) for n, one in enumerate(told)]
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
        memory.view(image(memory, [block(1, {id: (Statement(LABEL, "maxim", "", "set"),)})])).entity(id)
        is None
    )


def test_of_the_labels_that_imports_give_a_relation_the_newest_counts_and_an_edits_before_them(
    memory: GraphMemory,
) -> None:
    imports = [
        manifest_block(f"edit/e{n}", n, manifest(f"e{n}", {"P1": said})) for n, said in enumerate("ab", 1)
    ]
    told = block(0, {RELATION + "P1": (Statement(LABEL, "mine", "", "set"),)})
    labels = [
        memory.view(image(memory, some)).label("P1") for some in ([], imports[:1], imports, [told, *imports])
    ]
    assert labels == ["P1", "a", "b", "mine"]


def test_cycles_and_facts_of_oneself_are_as_good_as_any(memory: GraphMemory) -> None:
    told = {
        "a": (Statement("knows", "B", "b"), Statement("knows", "A", "a")),
        "b": (Statement("knows", "A", "a"),),
    }
    view = memory.view(image(memory, [block(1, told)]))
    for id, objects in (("a", ["b", "a"]), ("b", ["a"])):
        found = view.entity(id)
        assert found is not None
        assert [fact.object_id for fact in found.facts] == objects
