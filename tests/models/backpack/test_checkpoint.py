"""Checkpoints: read in each layout, written, and refused in words."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from models.backpack.checkpoint import build_backpack, load_backpack, save_backpack
from models.backpack.config import BackpackConfig
from models.backpack.layouts import CONV1D, PUBLISHED_ALIASES
from models.backpack.network import Backpack
from tests.models.backpack.conftest import CONFIG


def as_published(model: Backpack) -> dict[str, Tensor]:
    state = model.state_dict()
    tensors = {
        f"backpack.{name}": value.T.contiguous() if CONV1D.search(name) else value
        for name, value in state.items()
    }
    tensors |= {alias: state[name].clone() for alias, name in PUBLISHED_ALIASES.items()}
    return tensors | {"backpack.gpt2_model.h.0.attn.bias": torch.ones(1, 1, 4, 4)}


def test_a_checkpoint_that_was_written_reads_as_it_was(backpack: Backpack, tmp_path: Path) -> None:
    save_backpack(tmp_path, backpack)
    again = load_backpack(tmp_path)
    assert again.config == backpack.config
    assert all(torch.equal(again.state_dict()[name], value) for name, value in backpack.state_dict().items())


def test_the_published_layout_gives_the_same_network(backpack: Backpack) -> None:
    again = build_backpack(CONFIG, as_published(backpack))
    assert all(torch.equal(again.state_dict()[name], value) for name, value in backpack.state_dict().items())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale_attn_by_inverse_layer_idx": False}, "scale_attn_by_inverse_layer_idx"),
        ({"activation_function": "relu"}, "relu"),
        ({"scale_attn_weights": False}, "scale_attn_weights is False"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
        ({"num_senses": None}, "num_senses"),
        ({"num_senses": 5}, "does not divide"),
        ({"eos_token_id": 99}, "end is 99"),
        ({"unpadded_vocab_size": 41}, "words is 41"),
    ],
)
def test_a_configuration_of_something_else_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BackpackConfig.from_hf(CONFIG.to_hf() | change)
