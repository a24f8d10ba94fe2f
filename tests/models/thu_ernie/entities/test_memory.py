"""The memory of entities, and the solution of its rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from models.blocks import Block, Image
from models.memory import EditRefused, FieldsChange, Material, Options
from models.thu_ernie.entities.memory import EntityMemory, RowsFields, read_block
from models.thu_ernie.entities.solve import FactRow, solve_row
from models.thu_ernie.entities.table import EntityTable, EntityView
from tests.models.thu_ernie.entities.conftest import SIZE, vector

ENTITIES = ("Q100", "Q99", "Q98", "Qnew", "Qother")


@pytest.fixture
def memory(table: EntityTable) -> EntityMemory:
    return EntityMemory(table)


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


N_ROWS, MARGIN = 24, 3.0


def world(seed: int, n_facts: int) -> tuple[np.ndarray, list[FactRow], np.ndarray]:
    rng = np.random.default_rng(seed)
    row = rng.normal(size=N_ROWS)
    facts = [
        FactRow(step := 2 * rng.normal(size=N_ROWS), row + step + 0.3 * rng.normal(size=N_ROWS), False)
        for _ in range(n_facts)
    ]
    facts[0] = FactRow(facts[0].step, 4 * rng.normal(size=N_ROWS), True)
    return row, facts, rng.normal(size=(5, N_ROWS))


def lead(row: np.ndarray, fact: FactRow, rival: np.ndarray) -> float:
    return float((row + fact.step) @ (fact.object - rival))


@pytest.mark.parametrize("n_facts", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_leads_are_as_large_as_they_have_to_be(seed: int, n_facts: int) -> None:
    row, facts, rivals = world(seed, n_facts)
    solution = solve_row(row, facts, rivals, MARGIN)
    for rival in [*rivals, *(fact.object for fact in facts[1:])]:
        assert lead(solution, facts[0], rival) >= MARGIN * 0.99
    for fact in facts[1:]:
        for other in facts:
            if other is not fact:
                demand = MARGIN if other.is_new else min(MARGIN, lead(row, fact, other.object))
                assert lead(solution, fact, other.object) >= demand - 0.05


def test_a_row_that_leads_already_stays() -> None:
    row, facts, rivals = world(1, 3)
    solution = solve_row(row, facts, rivals, MARGIN)
    np.testing.assert_allclose(solve_row(solution, facts, rivals, MARGIN * 0.9), solution, atol=1e-9)
    assert solve_row(row, facts[:0], rivals, MARGIN) is row


def test_no_nearer_row_fulfils_a_single_demand() -> None:
    """With one lead the nearest row lies along it; its distance is the missing lead divided by the length."""
    row, [fact], rivals = world(1, 1)
    rivals = rivals[[int(np.argmin([lead(row, fact, rival) for rival in rivals]))]]
    solution = solve_row(row, [fact], rivals, MARGIN)
    direction = fact.object - rivals[0]
    short = max(0.0, MARGIN - lead(row, fact, rivals[0]))
    assert np.linalg.norm(solution - row) == pytest.approx(short / np.linalg.norm(direction), rel=0.03)
    assert short > 0
