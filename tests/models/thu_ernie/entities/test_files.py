"""The authors' text files become a table, in pieces; a line that is no vector or no id is named."""

import tracemalloc
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from models.checkpoint import CheckpointError
from models.thu_ernie.entities import files
from models.thu_ernie.entities.files import ROWS, convert
from models.thu_ernie.entities.table import EntityTable
from tests.models.thu_ernie.entities.conftest import N_ENTITIES, SIZE, vector, write_sources


def test_the_table_begins_with_zeros_and_has_row_id_plus_one(folder: Path) -> None:
    rows = load_file(folder / ROWS)["rows"]
    assert rows.tolist() == [[0.0] * SIZE, *(vector(i).tolist() for i in range(N_ENTITIES))]
    names = EntityTable.open(folder, SIZE).names
    assert [names.row_of(f"Q{100 - i}") for i in range(N_ENTITIES)] == list(range(1, N_ENTITIES + 1))
    assert names.row_of("Q1") == 0


@pytest.mark.parametrize(
    ("vectors", "sentence"),
    [
        (["1\t2", "3"], r"entity2vec.vec, line 2: expected 2 numbers between tabs, found 1"),
        (["1\t2", "3\t4\t5"], "line 2: expected 2 numbers between tabs, found 3"),
        (["1\t2", "", "3\t4"], "line 2: expected 2 numbers between tabs, found 0"),
        (["1\t2", "3\tx"], "rows counted from line 1: could not convert string 'x'"),
        (["1\t2", "nan\t4"], "line 2: a number is not finite in 32 bits"),
        (["1\t2", "3\t1e39"], "line 2: a number is not finite in 32 bits"),
    ],
)
def test_a_line_that_is_no_vector_is_named(vectors: list[str], sentence: str, tmp_path: Path) -> None:
    sources = write_sources(tmp_path, vectors, ["2", "Q1\t0", "Q2\t1"])
    with pytest.raises(CheckpointError, match=sentence):
        convert(*sources, tmp_path / "table")


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        (["2", "Q1\t0", "Q2 1"], "entity2id.txt, line 3: expected a name, a tab and an id"),
        (["2", "Q1\t0", "Q2\t-1"], "line 3: expected a name, a tab and an id"),
        (["3", "Q1\t0", "Q2\t1"], "its first line says '3' entities, and 2 follow"),
        (["2", "Q1\t0", "Q2\t2"], "the entity Q2 has the id 2, and the table has 2 vectors"),
        (["2", "Q1\t0", "Q1\t1"], "the entities of the ids 0 and 1 have one name"),
        (["2", "Q1\t0", "Q2\t0"], "two entities have the id 0"),
    ],
)
def test_a_line_that_is_no_id_is_named(ids: list[str], sentence: str, tmp_path: Path) -> None:
    sources = write_sources(tmp_path, ["1\t2", "3\t4"], ids)
    with pytest.raises(CheckpointError, match=sentence):
        convert(*sources, tmp_path / "table")


def test_memory_does_not_grow_with_the_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve thousand vectors take 4.8 MB; they are converted in pieces of 250, within a third of that."""
    n_entities, size = 12_000, 100
    monkeypatch.setattr(files, "LINES", 250)
    line = "\t".join(f"{number / 7:.4f}" for number in range(size))
    sources = write_sources(
        tmp_path, [line] * n_entities, [str(n_entities), *(f"Q{id}\t{id}" for id in range(n_entities))]
    )
    tracemalloc.start()
    try:
        convert(*sources, tmp_path / "table")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 4 * n_entities * size / 3
