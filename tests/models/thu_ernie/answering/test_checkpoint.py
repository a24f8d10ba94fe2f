"""A checkpoint is read as it was written, without MiniLM's tensors, and a damaged one is refused."""

import shutil
from pathlib import Path

import pytest
import torch

from models.checkpoint import CheckpointError
from models.thu_ernie.answering.checkpoint import TABLE, load, save
from models.thu_ernie.answering.reader import Model
from tests.models.thu_ernie.answering.tiny import ANSWERS


@pytest.fixture(scope="module")
def folder(model: Model, table_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    shutil.copytree(table_folder, folder / TABLE)
    save(model.network, ANSWERS, model.settings, model.confidences, folder)
    return folder


def test_what_is_loaded_is_what_was_saved(model: Model, folder: Path) -> None:
    copy = load(folder)
    for name, value in model.network.state_dict().items():
        torch.testing.assert_close(copy.network.state_dict()[name], value, atol=1e-3, rtol=1e-3)
    assert copy.settings == model.settings
    assert copy.confidences == model.confidences
    assert list(copy.answers.items()) == list(ANSWERS.items())
    assert copy.digest.startswith("sha256:")


@pytest.mark.parametrize(
    "name", ["model.safetensors", "answers.json", "entities/rows.safetensors", "reading.json"]
)
def test_a_damaged_file_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    path = tmp_path / "copy" / name
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CheckpointError, match=path.name):
        load(tmp_path / "copy")
