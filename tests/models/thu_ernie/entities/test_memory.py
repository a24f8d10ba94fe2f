"""The entity table as a memory: rows follow from the table alone, and undo leaves no trace, bit for bit."""

from collections.abc import Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.memory import Block, EditRefused, Image, Material, Memory, Options
from models.thu_ernie.entities.files import convert
from models.thu_ernie.entities.memory import EntityMemory, RowsChange, RowWrite, read_block
from models.thu_ernie.entities.table import EntityTable, EntityView
from tests.models.thu_ernie.entities.conftest import SIZE, vector, write_sources

ENTITIES = ("Q100", "Q99", "Q98", "Qnew", "Qother")
VECTOR = st.tuples(*[st.floats(-9, 9, width=32)] * SIZE)
# The fields of a RowWrite, which the test makes: its types are checked by chance, and that is none of a strategy's.
WRITES = st.one_of(
    st.tuples(st.sampled_from(ENTITIES), VECTOR, st.just(())),
    st.tuples(
        st.sampled_from(ENTITIES), st.none(), st.sampled_from(ENTITIES[:3]).map(lambda name: ((name, 1.0),))
    ),
    st.tuples(st.sampled_from(ENTITIES[:3]), st.none(), st.just(())),
)


@pytest.fixture
def memory(table: EntityTable) -> EntityMemory:
    return EntityMemory(table)


@pytest.fixture(scope="module")
def shared_memory(tmp_path_factory: pytest.TempPathFactory) -> EntityMemory:
    folder = tmp_path_factory.mktemp("entities")
    convert(*write_sources(folder), folder / "table")
    return EntityMemory(EntityTable.open(folder / "table", SIZE))


def build(memory: EntityMemory, *writes: RowWrite, id: str = "e") -> Material:
    (material,) = memory.build([RowsChange(id, writes)], Options())
    assert isinstance(material, Material), material
    return material


def fold(memory: EntityMemory, materials: Sequence[Material]) -> Image:
    """Give each material its place in the ledger, as a writer does."""
    blocks = []
    for order, material in enumerate(materials):
        block = material.block
        blocks.append(
            Material(
                material.edit,
                material.method,
                Block.decode(block.encoded, key=block.key, order=order, digest=block.digest),
            )
        )
    return memory.fold(blocks)


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
    material = build(
        memory,
        RowWrite("Q100", (1.0, -0.0, 3.0, 4.0)),
        RowWrite.copy("Q99", "Q93"),
        RowWrite.interpolate("Q98", "Q94", 0.25),
        RowWrite("Q97"),
        RowWrite.mean("Qnew", ["Q96", "Q95"]),
    )
    assert material.notes == {"rows": 5, "new": ["Qnew"]}
    rows = {name: row.tolist() for name, row in read_block(material.block).items()}
    assert rows["Q100"] == [1.0, -0.0, 3.0, 4.0]
    assert rows["Q99"] == vector(7).tolist()
    assert rows["Q98"] == (0.75 * vector(2) + 0.25 * vector(6)).tolist()
    assert rows["Q97"] == [0.0] * SIZE
    assert rows["Qnew"] == ((vector(4) + vector(5)) / 2).tolist()


def test_an_edit_is_read_and_names_itself(memory: EntityMemory) -> None:
    view = memory.view(
        fold(memory, [build(memory, RowWrite.copy("Q100", "Q93"), RowWrite.copy("Qnew", "Q99"))])
    )
    assert view.look_up(torch.tensor([1, 9, 2])).tolist() == [vector(n).tolist() for n in (7, 1, 1)]
    assert (view.row_of("Qnew"), view.edits) == (9, {1: "e", 9: "e"})


def test_the_rows_of_an_edit_do_not_depend_on_other_edits(memory: EntityMemory) -> None:
    first = build(memory, RowWrite("Q100", (9.0,) * SIZE))
    memory.view(fold(memory, [first]))
    assert (
        read_block(build(memory, RowWrite.copy("Q99", "Q100"), id="f").block)["Q99"].tolist()
        == vector(0).tolist()
    )


@settings(max_examples=60)
@given(
    changes=st.lists(
        st.lists(WRITES, min_size=1, max_size=3, unique_by=lambda fields: fields[0]), max_size=5
    ),
    steps=st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=5),
)
def test_a_view_is_the_same_however_it_was_come_by(
    changes: list[list[tuple[Any, ...]]], steps: list[set[int]], shared_memory: EntityMemory
) -> None:
    """From any set of active edits to any other, and back to none; each state is bit for bit that of a fresh memory."""
    materials = [
        build(shared_memory, *starmap(RowWrite, writes), id=f"e{n}") for n, writes in enumerate(changes)
    ]
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
        build(memory, RowWrite("Q100", (value,) * SIZE), id=id) for value, id in ((1.0, "a"), (2.0, "b"))
    )
    two_edits = memory.view(fold(memory, [early, late]))
    assert (two_edits.look_up(torch.tensor([1]))[0, 0], two_edits.edits[1]) == (2.0, "b")
    undone = memory.view(fold(memory, [early]))
    assert (undone.look_up(torch.tensor([1]))[0, 0], undone.edits[1]) == (1.0, "a")
    assert two_edits.look_up(torch.tensor([1]))[0, 0] == 2.0
    assert memory.usage(fold(memory, [early, late])).slots_used == 1


def test_equal_rows_have_one_digest_whatever_their_order(memory: EntityMemory) -> None:
    writes = [RowWrite.copy("Q100", "Q93"), RowWrite.copy("Q99", "Q93")]
    assert build(memory, *writes).block.digest == build(memory, *reversed(writes), id="f").block.digest


@pytest.mark.parametrize(
    ("writes", "code", "sentence"),
    [
        ([RowWrite("Q100", (1.0, 2.0))], "invalid_vector", "the row of Q100 has 2 numbers, not 4"),
        ([RowWrite("Q100", (1.0, 2.0, 3.0, float("nan")))], "invalid_vector", "a number that is not finite"),
        (
            [RowWrite("Q100", (1.0, 2.0, 3.0, 1e39))],
            "invalid_vector",
            "a number that is not finite in 32 bits",
        ),
        ([RowWrite.copy("Q100", "Q1")], "unknown_entity", "no row of Q1: check the id"),
        ([RowWrite("Q1")], "unknown_entity", "no row of Q1"),
        ([RowWrite.interpolate("Q1", "Q100", 0.5)], "unknown_entity", "no row of Q1"),
        ([], "empty", "one row or more"),
        ([RowWrite("Q100"), RowWrite("Q100")], "empty", "each of another entity"),
        ([RowWrite("", (1.0, 2.0, 3.0, 4.0))], "empty", "the name of its entity"),
    ],
)
def test_a_change_that_cannot_work_is_refused_in_its_place(
    writes: list[RowWrite], code: str, sentence: str, memory: EntityMemory
) -> None:
    good = RowsChange("good", (RowWrite("Q100"),))
    refusal, material = memory.build([RowsChange("bad", tuple(writes)), good], Options())
    assert isinstance(material, Material)
    assert isinstance(refusal, EditRefused)
    assert refusal.code == code
    assert sentence in refusal.detail


def test_a_name_that_is_no_unicode_is_a_name(memory: EntityMemory, tmp_path: Path) -> None:
    material = build(memory, RowWrite("\ud800", (1.0,) * SIZE))
    assert memory.view(fold(memory, [material])).row_of("\ud800") == 9
