"""Vectors are looked up from the map as they were written; an edit stands in front of it and never writes to it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from models.kit.checkpoint import CheckpointError, read_verified
from models.thu_ernie.checkpoint import DEFAULT, TABLE
from models.thu_ernie.entities import table as files
from models.thu_ernie.entities.table import (
    FILES,
    NAMES,
    NO_ENTITY,
    ROWS,
    EntityTable,
    EntityView,
    write_table,
)
from tests.models.thu_ernie.entities.conftest import N_ENTITIES, SIZE, vector


def test_rows_are_looked_up_in_the_order_that_is_asked_for(table: EntityTable) -> None:
    vectors = table.look_up(torch.tensor([[8, 0, 3], [3, 1, 1]]))
    expected = [[vector(7), np.zeros(SIZE), vector(2)], [vector(2), vector(0), vector(0)]]
    assert vectors.tolist() == np.array(expected).tolist()
    assert table.look_up(torch.zeros(0, dtype=torch.long)).shape == (0, SIZE)


@pytest.mark.parametrize("row", [-1, N_ENTITIES + 1])
def test_a_row_that_the_table_lacks_is_an_error(row: int, table: EntityTable) -> None:
    with pytest.raises(IndexError, match=f"rows {min(0, row)} to {max(0, row)} of a table of 9"):
        table.look_up(torch.tensor([0, row]))


def test_a_vector_that_is_changed_leaves_the_table_as_it_was(table: EntityTable, folder: Path) -> None:
    before = (folder / ROWS).read_bytes()
    table.look_up(torch.tensor([1])).fill_(7)
    assert table.look_up(torch.tensor([1]))[0].tolist() == vector(0).tolist()
    assert (folder / ROWS).read_bytes() == before


def test_an_edited_row_and_a_new_one_stand_in_front_of_the_table(table: EntityTable) -> None:
    threes, twos = torch.full((SIZE,), 3.0), torch.full((SIZE,), 2.0)
    view = EntityView(table, {3: threes, 9: twos}, {"Qnew": 9}, {3: "a", 9: "a"})
    assert (view.row_of("Q98"), view.row_of("Qnew"), view.row_of("Q1")) == (3, 9, 0)
    vectors = view.look_up(torch.tensor([[2, 3], [9, 0]]))
    assert vectors[0, 0].tolist() == vector(1).tolist()
    assert vectors[0, 1].equal(threes)
    assert vectors[1, 0].equal(twos)
    assert not vectors[1, 1].any()
    assert table.look_up(torch.tensor([3]))[0].tolist() == vector(2).tolist()


def test_a_table_of_another_width_is_refused(folder: Path) -> None:
    with pytest.raises(CheckpointError, match=r"vectors of 4 numbers and the model reads 100"):
        EntityTable.open(folder, 100)


def test_a_table_that_does_not_begin_with_zeros_is_refused(folder: Path) -> None:
    save_file({"rows": np.ones((2, SIZE), np.float32)}, folder / ROWS)
    with pytest.raises(CheckpointError, match="does not begin with a row of zeros"):
        EntityTable.open(folder, SIZE)


@pytest.mark.parametrize("name", [ROWS, NAMES, "SHA256SUMS"])
def test_a_file_that_is_missing_or_damaged_is_named(name: str, folder: Path) -> None:
    content = (folder / name).read_bytes()
    for damaged_bytes in (content[: len(content) // 2], b"", b"\xff" * 80):
        (folder / name).write_bytes(damaged_bytes)
        with pytest.raises(CheckpointError, match=f"{name}.*fetch it again"):
            EntityTable.open(folder, SIZE)
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name}.*fetch it again"):
        EntityTable.open(folder, SIZE)


def test_the_table_of_the_default_checkpoint_is_the_one_in_its_files() -> None:
    folder = DEFAULT / TABLE
    rows, names = load_file(folder / ROWS)["rows"], load_file(folder / NAMES)
    table = EntityTable.open(folder, rows.shape[1])
    assert table.digest == read_verified(folder, FILES).digest
    assert table.look_up(torch.arange(len(table))).numpy().tobytes() == rows.tobytes()
    assert len(names["hash"]) < len(table)
    answers = json.loads((DEFAULT / "answers.json").read_text("utf-8"))
    assert all(table.row_of(name) for name in answers.values())


def test_the_table_begins_with_zeros_and_has_row_id_plus_one(folder: Path) -> None:
    rows = load_file(folder / ROWS)["rows"]
    assert rows.tolist() == [[0.0] * SIZE, *(vector(i).tolist() for i in range(N_ENTITIES))]
    table = EntityTable.open(folder, SIZE)
    assert [table.row_of(f"Q{100 - i}") for i in range(N_ENTITIES)] == list(range(1, N_ENTITIES + 1))
    assert table.row_of("Q1") == 0


def test_the_digest_is_that_of_the_files(folder: Path, table: EntityTable) -> None:
    assert table.digest == read_verified(folder, FILES).digest


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([("Q1", 0), ("Q2", 2)], "the entity Q2 has the id 2, and the table has 2 vectors"),
        ([("Q1", 0), ("Q1", 1)], "the entities of the ids 0 and 1 have one name"),
        ([("Q1", 0), ("Q2", 0)], "two entities have the id 0"),
    ],
)
def test_an_id_that_does_not_fit_is_named(ids: list[tuple[str, int]], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=sentence):
        write_table(tmp_path / "table", 2, [np.ones((2, 2), np.float32)], ids)


NAMES_OF_ENTITIES = st.lists(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=4), unique=True, max_size=12
)


@given(content=NAMES_OF_ENTITIES, other=st.text(max_size=4))
def test_every_name_has_its_row_and_any_other_none(
    content: list[str], other: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("names")
    rows = {name: row for row, name in enumerate(content, 1)}
    vectors = np.ones((len(content), SIZE), np.float32)
    assert write_table(folder, SIZE, [vectors], ((name, row - 1) for name, row in rows.items())) == len(rows)
    index = EntityTable.open(folder, SIZE)
    assert {name: index.row_of(name) for name in rows} == rows
    assert index.row_of(other) == rows.get(other, NO_ENTITY)


def test_two_names_of_one_hash_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "hash_of", len)
    names = [("Q1", 0), ("Q22", 1), ("Q333", 2), ("Q44", 3)]
    with pytest.raises(CheckpointError, match="the entities of the ids 1 and 3 have one name"):
        write_table(tmp_path, SIZE, [np.ones((4, SIZE), np.float32)], names)
