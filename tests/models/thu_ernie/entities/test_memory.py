"""The entity table as a memory: rows follow from the table alone, and undo leaves no trace, bit for bit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.blocks import Block, Image
from models.memory import EditRefused, FieldsChange, Material, Memory, Options
from models.thu_ernie.entities.memory import EntityMemory, RowsFields, read_block
from models.thu_ernie.entities.table import EntityTable, EntityView, convert
from tests.models.thu_ernie.entities.conftest import SIZE, vector, write_sources

ENTITIES = ("Q100", "Q99", "Q98", "Qnew", "Qother")
VECTOR = st.tuples(*[st.floats(-9, 9, width=32)] * SIZE)
WAYS = st.one_of(
    st.fixed_dictionaries({"vector": VECTOR}),
    st.fixed_dictionaries({"copy_of": st.sampled_from(ENTITIES[:3])}),
)
CHANGES = st.lists(st.tuples(st.sampled_from(ENTITIES), WAYS), max_size=5)


@pytest.fixture
def memory(table: EntityTable) -> EntityMemory:
    return EntityMemory(table)


@pytest.fixture(scope="module")
def shared_memory(tmp_path_factory: pytest.TempPathFactory) -> EntityMemory:
    folder = tmp_path_factory.mktemp("entities")
    convert(*write_sources(folder), folder / "table")
    return EntityMemory(EntityTable.open(folder / "table", SIZE))


def change(entity: str, id: str = "e", **way: Any) -> FieldsChange:
    return FieldsChange(id, "rows", RowsFields(entity=entity, **way))


def build(memory: EntityMemory, entity: str, id: str = "e", **way: Any) -> Material:
    (material,) = memory.build([change(entity, id, **way)], Options())
    assert isinstance(material, Material), material
    return material


def fold(memory: EntityMemory, materials: Sequence[Material]) -> Image:
    """Give each material its place in the ledger, as a writer does."""
    return memory.fold([replace(m, block=replace(m.block, order=order)) for order, m in enumerate(materials)])


def content(view: EntityView) -> Mapping[str, Any]:
    """Return every vector as bytes, and the edit that wrote it."""
    rows = {entity: view.row_of(entity) for entity in ENTITIES}
    vectors = view.look_up(torch.tensor(list(rows.values())))
    bits = [vectors[n].numpy().tobytes() for n in range(len(rows))]
    return {name: (row, bits[n], view.edits.get(row)) for n, (name, row) in enumerate(rows.items())}


def test_it_is_a_memory(memory: EntityMemory) -> None:
    assert isinstance(memory, Memory)
    assert memory.base.base == memory.table.digest
    assert content(memory.view(memory.base)) == content(EntityView(memory.table))


def test_every_way_to_write_a_row(memory: EntityMemory) -> None:
    given_vector = build(memory, "Q100", vector=(1.0, -0.0, 3.0, 4.0))
    assert given_vector.notes == {"rows": 1, "new": []}
    assert read_block(given_vector.block)["Q100"].tolist() == [1.0, -0.0, 3.0, 4.0]
    copy = build(memory, "Qnew", copy_of="Q93")
    assert copy.notes == {"rows": 1, "new": ["Qnew"]}
    assert read_block(copy.block)["Qnew"].tolist() == vector(7).tolist()


def test_an_edit_is_read_and_names_itself(memory: EntityMemory) -> None:
    materials = [build(memory, "Q100", "e", copy_of="Q93"), build(memory, "Qnew", "f", copy_of="Q99")]
    view = memory.view(fold(memory, materials))
    assert view.look_up(torch.tensor([1, 9, 2])).tolist() == [vector(n).tolist() for n in (7, 1, 1)]
    assert (view.row_of("Qnew"), view.edits) == (9, {1: "e", 9: "f"})


def test_the_rows_of_an_edit_do_not_depend_on_other_edits(memory: EntityMemory) -> None:
    memory.view(fold(memory, [build(memory, "Q100", vector=(9.0,) * SIZE)]))
    copy = build(memory, "Q99", "f", copy_of="Q100")
    assert read_block(copy.block)["Q99"].tolist() == vector(0).tolist()


@settings(max_examples=60)
@given(changes=CHANGES, steps=st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=5))
def test_a_view_is_the_same_however_it_was_come_by(
    changes: list[tuple[str, dict[str, Any]]], steps: list[set[int]], shared_memory: EntityMemory
) -> None:
    """From any set of active edits to any other, and back to none; each state is bit for bit that of a fresh memory."""
    materials = [build(shared_memory, entity, f"e{n}", **way) for n, (entity, way) in enumerate(changes)]
    base = content(EntityView(shared_memory.table))
    for step in [*steps, set()]:
        active = [materials[n] for n in sorted(step) if n < len(materials)]
        image = fold(shared_memory, active)
        fresh = EntityMemory(shared_memory.table)
        assert content(shared_memory.view(image)) == content(fresh.view(image))
        assert image.checksum == fold(fresh, active).checksum
    assert content(shared_memory.view(fold(shared_memory, []))) == base


def test_of_two_edits_of_one_entity_the_later_is_read_and_undo_brings_back_the_earlier(
    memory: EntityMemory,
) -> None:
    early, late = (
        build(memory, "Q100", id, vector=(value,) * SIZE) for value, id in ((1.0, "a"), (2.0, "b"))
    )
    two_edits = memory.view(fold(memory, [early, late]))
    assert (two_edits.look_up(torch.tensor([1]))[0, 0], two_edits.edits[1]) == (2.0, "b")
    undone = memory.view(fold(memory, [early]))
    assert (undone.look_up(torch.tensor([1]))[0, 0], undone.edits[1]) == (1.0, "a")
    assert two_edits.look_up(torch.tensor([1]))[0, 0] == 2.0
    assert memory.usage(fold(memory, [early, late])).slots_used == 1


def test_a_block_of_a_former_release_with_several_rows_is_read(memory: EntityMemory) -> None:
    names = torch.tensor(list(json.dumps(["Q100", "Qnew"]).encode()), dtype=torch.uint8)
    rows = torch.arange(2.0 * SIZE).view(2, SIZE)
    block = Block.of("edit/old", 0, "rows", {"entities": names, "rows": rows})
    view = memory.view(memory.fold([Material("old", "rows", block, {"rows": 2, "new": ["Qnew"]})]))
    assert view.edits == {1: "old", 9: "old"}
    assert view.look_up(torch.tensor([1, 9])).equal(rows)


@pytest.mark.parametrize(
    ("way", "code", "sentence"),
    [
        ({"vector": (1.0, 2.0)}, "invalid_vector", "the row of Q100 has 2 numbers, not 4"),
        ({"vector": (1.0, 2.0, 3.0, 1e39)}, "invalid_vector", "a number that is not finite in 32 bits"),
        ({"copy_of": "Q1"}, "unknown_entity", "no row of Q1: check the id"),
    ],
)
def test_a_change_that_cannot_work_is_refused_in_its_place(
    way: dict[str, Any], code: str, sentence: str, memory: EntityMemory
) -> None:
    good = change("Q100", "good", vector=(0.0,) * SIZE)
    refusal, material = memory.build([change("Q100", "bad", **way), good], Options())
    assert isinstance(material, Material)
    assert isinstance(refusal, EditRefused)
    assert refusal.code == code
    assert sentence in refusal.detail


def test_a_name_that_is_not_ascii_is_a_name(memory: EntityMemory, tmp_path: Path) -> None:
    material = build(memory, "北京\u0301", vector=(1.0,) * SIZE)
    assert memory.view(fold(memory, [material])).row_of("北京\u0301") == 9
