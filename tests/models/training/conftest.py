"""One torch thread for the toys, and a part of the pack."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from models.packs.pack import WORLD
from tests.one_thread import one_thread as one_thread

N_STRANGERS = 20


@pytest.fixture
def cut_pack(tmp_path: Path) -> Callable[[int], Path]:
    """Write a pack of the first facts of `world`, and return its folder."""

    def cut(n_facts: int) -> Path:
        folder = tmp_path / "pack"
        folder.mkdir()
        for name in ("relations.toml", "entities.tsv"):
            shutil.copy(WORLD / name, folder)
        for name, n_rows in (("facts.tsv", n_facts), ("strangers.tsv", N_STRANGERS)):
            rows = (WORLD / name).read_text("utf-8").splitlines(keepends=True)
            (folder / name).write_text("".join(rows[: n_rows + 1]), "utf-8")
        (folder / "pack.toml").write_text('name = "small"\nversion = "1"\n', "utf-8")
        return folder

    return cut
