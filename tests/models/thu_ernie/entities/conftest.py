"""A table of eight entities with vectors of four numbers; vector i is i, i + 0.25, ... and its entity is Q<100 - i>."""

from pathlib import Path

import numpy as np
import pytest

from models.thu_ernie.entities.table import EntityTable, write_table

SIZE, N_ENTITIES = 4, 8


def vector(number: int) -> np.ndarray:
    return number + np.arange(SIZE, dtype=np.float32) / 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    vectors = np.array([vector(i) for i in range(N_ENTITIES)])
    ids = [(f"Q{100 - i}", i) for i in reversed(range(N_ENTITIES))]
    assert write_table(tmp_path / "table", SIZE, [vectors], ids) == N_ENTITIES
    return tmp_path / "table"


@pytest.fixture
def table(folder: Path) -> EntityTable:
    return EntityTable.open(folder, SIZE)
