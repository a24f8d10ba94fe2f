"""A table of eight entities with vectors of four numbers, converted from files in the authors' layout."""

from pathlib import Path

import numpy as np
import pytest

from models.thu_ernie.entities.table import EntityTable, convert

SIZE, N_ENTITIES = 4, 8


def write_sources(
    folder: Path, vectors: list[str] | None = None, ids: list[str] | None = None
) -> tuple[Path, Path]:
    """Write entity2vec.vec and entity2id.txt; vector i is i, i + 0.25, ... and its entity is Q<100 - i>."""
    vectors = vectors or ["\t".join(f"{i + j / 4}" for j in range(SIZE)) for i in range(N_ENTITIES)]
    ids = ids or [str(N_ENTITIES), *(f"Q{100 - i}\t{i}" for i in reversed(range(N_ENTITIES)))]
    paths = folder / "entity2vec.vec", folder / "entity2id.txt"
    for path, lines in zip(paths, (vectors, ids), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def vector(number: int) -> np.ndarray:
    return number + np.arange(SIZE, dtype=np.float32) / 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert convert(*write_sources(tmp_path), tmp_path / "table") == N_ENTITIES
    return tmp_path / "table"


@pytest.fixture
def table(folder: Path) -> EntityTable:
    return EntityTable.open(folder, SIZE)
