"""Vectors are looked up from the map as they were converted; an edit stands in front of it and never writes to it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from models.checkpoint import CheckpointError
from models.thu_ernie.entities import mapped
from models.thu_ernie.entities.files import NAMES, ROWS
from models.thu_ernie.entities.table import EntityTable
from tests.models.thu_ernie.entities.conftest import SIZE, vector


@pytest.mark.parametrize("max_chunks", [1, 2, 64])
def test_rows_are_looked_up_in_the_order_that_is_asked_for(
    max_chunks: int, table: EntityTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped, "MAX_CHUNKS", max_chunks)
    vectors = table.look_up(torch.tensor([[8, 0, 3], [3, 1, 1]]))
    expected = [[vector(7), np.zeros(SIZE), vector(2)], [vector(2), vector(0), vector(0)]]
    assert vectors.tolist() == np.array(expected).tolist()
    assert table.look_up(torch.zeros(0, dtype=torch.long)).shape == (0, SIZE)


def test_a_vector_that_is_changed_leaves_the_table_as_it_was(table: EntityTable, folder: Path) -> None:
    before = (folder / ROWS).read_bytes()
    table.look_up(torch.tensor([1])).fill_(7)
    assert table.look_up(torch.tensor([1]))[0].tolist() == vector(0).tolist()
    assert (folder / ROWS).read_bytes() == before


@pytest.mark.parametrize("name", [ROWS, NAMES, "SHA256SUMS"])
def test_a_file_that_is_missing_or_damaged_is_named(name: str, folder: Path) -> None:
    content = (folder / name).read_bytes()
    for damaged_bytes in (content[: len(content) // 2], b"", b"\xff" * 80):
        (folder / name).write_bytes(damaged_bytes)
        with pytest.raises(CheckpointError, match=f"{name}.*convert it again"):
            EntityTable.open(folder, SIZE)
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name}.*convert it again"):
        EntityTable.open(folder, SIZE)
