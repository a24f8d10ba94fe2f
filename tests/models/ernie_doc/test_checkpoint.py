"""A checkpoint is the same after it was saved and loaded, and one that is not whole is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from models.checkpoint import WEIGHTS, CheckpointError
from models.confidence import Confidence
from models.ernie_doc.loading.checkpoint import FILES, Settings, load, save
from models.ernie_doc.loading.minilm import WORDS, minilm_weights
from models.ernie_doc.model import ErnieDoc
from tests.models.ernie_doc.tiny import CONFIG, tiny_model

MINILM = replace(CONFIG, vocab=30522, width=384, heads=12, inner=1536)


@pytest.mark.parametrize("shares_biases", [False, True])
def test_a_saved_model_is_the_same_when_it_is_loaded(tmp_path: Path, shares_biases: bool) -> None:
    model, settings = (
        tiny_model(shares_biases=shares_biases, skips_padding=True),
        Settings(3, 2, 4, Confidence((1.0, 2.0, 3.0), 0.5, 0.25)),
    )
    save(model, tmp_path, settings=settings)
    checkpoint = load(tmp_path)
    assert checkpoint.settings == settings
    assert checkpoint.model.config == model.config
    for name, value in model.state_dict().items():
        assert checkpoint.model.state_dict()[name].equal(value), name


def test_what_equals_minilm_is_not_stored(tmp_path: Path) -> None:
    model = ErnieDoc(MINILM)
    model.load_state_dict(minilm_weights(model.state_dict()), strict=False)
    with torch.no_grad():
        model.encoder.layers[1].ffn.linear1.bias += 1.0
    save(model, tmp_path, "minilm")
    names = load_file(tmp_path / WEIGHTS).keys()
    assert WORDS not in names
    assert "encoder.layers.0.ffn.linear1.bias" not in names
    assert "encoder.layers.1.ffn.linear1.bias" in names
    assert "encoder.layers.0.attn.r_proj.weight" in names
    for name, value in load(tmp_path).model.state_dict().items():
        assert value.equal(model.state_dict()[name]), name


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    save(tiny_model(), tmp_path)
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=f"{name} is damaged"):
        load(tmp_path)
