"""Every name of the table is found, and any other is not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.checkpoint import CheckpointError
from models.thu_ernie.entities import names
from models.thu_ernie.entities.names import NO_ENTITY, EntityNames, write_names

NAMES = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=4), unique=True, max_size=12)


@given(content=NAMES, other=st.text(max_size=4))
def test_every_name_has_its_row_and_any_other_none(
    content: list[str], other: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("names") / "names.safetensors"
    rows = {name: row for row, name in enumerate(content, 1)}
    assert write_names(path, rows.items(), len(rows) + 1) == len(rows)
    index = EntityNames.open(path)
    assert {name: index.row_of(name) for name in rows} == rows
    assert index.row_of(other) == rows.get(other, NO_ENTITY)


def test_two_names_of_one_hash_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "hash_of", len)
    with pytest.raises(CheckpointError, match="the entities of the ids 1 and 3 have one name"):
        write_names(tmp_path / "names.safetensors", [("Q1", 1), ("Q22", 2), ("Q333", 3), ("Q44", 4)], 5)
