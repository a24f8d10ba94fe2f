"""A checkpoint is read as it was written, without MiniLM's tensors, and a damaged one is refused."""

import shutil
from pathlib import Path

import pytest
import torch

from models.thu_ernie.checkpoint import TABLE, load, minilm_weights, save
from models.thu_ernie.heads import ErnieAnswers
from models.thu_ernie.reader import Model
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


def test_the_same_weights_give_the_same_bytes(model: Model, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / TABLE, tmp_path / TABLE)
    save(model.network, ANSWERS, model.settings, model.confidences, tmp_path)
    assert (tmp_path / "SHA256SUMS").read_text() == (folder / "SHA256SUMS").read_text()


def test_weights_of_minilm_are_known_by_our_names(network: ErnieAnswers) -> None:
    assert minilm_weights(network.state_dict()) == {}  # no shape of the small network is MiniLM's
    name = "bert.encoder.layer.2.output.dense.weight"
    [(new_name, value)] = minilm_weights({name: torch.empty(384, 1536)}).items()
    assert (new_name, value.shape) == (name, (384, 1536))
