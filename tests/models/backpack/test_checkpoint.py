"""Checkpoints: read in each layout, written, and refused in words.

Files of the training code become safetensors, and none of their code runs.
"""

import json
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from models.backpack.checkpoint import build_backpack, main, save_backpack
from models.backpack.network import Backpack
from models.backpack.senses import BackpackConfig
from models.backpack.training_file import read_training_file
from models.backpack.weight_names import CONV1D, PUBLISHED_ALIASES, WORDS
from models.kit.checkpoint import CheckpointError, read_config, read_tensors
from tests.models.backpack.conftest import CONFIG


def as_published(model: Backpack) -> dict[str, Tensor]:
    state = model.state_dict()
    tensors = {
        f"backpack.{name}": value.T.contiguous() if CONV1D.search(name) else value
        for name, value in state.items()
    }
    tensors |= {alias: state[name].clone() for alias, name in PUBLISHED_ALIASES.items()}
    return tensors | {"backpack.gpt2_model.h.0.attn.bias": torch.ones(1, 1, 4, 4)}


def load_backpack(folder: Path) -> Backpack:
    return build_backpack(BackpackConfig.from_hf(read_config(folder)), read_tensors(folder))


def test_a_checkpoint_that_was_written_reads_as_it_was(backpack: Backpack, tmp_path: Path) -> None:
    save_backpack(tmp_path, backpack)
    again = load_backpack(tmp_path)
    assert again.config == backpack.config
    assert all(torch.equal(again.state_dict()[name], value) for name, value in backpack.state_dict().items())


def test_the_published_layout_gives_the_same_network(backpack: Backpack) -> None:
    again = build_backpack(CONFIG, as_published(backpack))
    assert all(torch.equal(again.state_dict()[name], value) for name, value in backpack.state_dict().items())


def test_a_pickled_file_of_the_published_layout_is_read_as_tensors(
    backpack: Backpack, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG.to_hf()))
    torch.save(as_published(backpack), tmp_path / "pytorch_model.bin")
    assert torch.equal(load_backpack(tmp_path).embedding, backpack.embedding)


def test_tied_tensors_that_differ_are_refused(backpack: Backpack) -> None:
    tensors = as_published(backpack)
    tensors["lm_head.weight"][0, 0] += 1
    with pytest.raises(CheckpointError, match=r"lm_head\.weight"):
        build_backpack(CONFIG, tensors)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("gpt2_model.ln_f.bias", None, r"lacks gpt2_model\.ln_f\.bias"),
        ("gpt2_model.ln_f.bias", torch.zeros(3), r"another shape .* gpt2_model\.ln_f\.bias"),
        ("gpt2_model.ln_f.bias", torch.full((16,), torch.inf), r"not finite in gpt2_model\.ln_f\.bias"),
        ("gpt2_model.extra", torch.zeros(3), r"has no place for gpt2_model\.extra"),
    ],
)
def test_what_is_wrong_with_the_weights_is_named(
    backpack: Backpack, name: str, value: Tensor | None, message: str
) -> None:
    tensors = {**backpack.state_dict(), name: value}
    with pytest.raises(CheckpointError, match=message):
        build_backpack(CONFIG, {key: tensor for key, tensor in tensors.items() if tensor is not None})


def test_weights_of_something_else_are_refused() -> None:
    with pytest.raises(CheckpointError, match="no Backpack has these tensors"):
        build_backpack(CONFIG, {"bert.embeddings": torch.zeros(1)})


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


def test_half_precision_on_disk_is_read_as_float32(backpack: Backpack, tmp_path: Path) -> None:
    save_backpack(tmp_path, backpack, torch.float16)
    assert load_file(tmp_path / "model.safetensors")[WORDS].dtype == torch.float16
    assert load_backpack(tmp_path).embedding.dtype == torch.float32


class Malicious:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (str(self.path),)


def test_objects_beside_the_tensors_are_ignored_and_never_run(tmp_path: Path) -> None:
    target, file = tmp_path / "touched", tmp_path / "last.ckpt"
    weights = {"model.lm_head.weight": torch.arange(6.0).view(2, 3)}
    torch.save({"state_dict": weights, "hyper": Malicious(target), "options": Namespace(lr=1)}, file)
    tensors = read_training_file(file)
    assert torch.equal(tensors["model.lm_head.weight"], weights["model.lm_head.weight"])
    assert not target.exists()


def test_a_file_is_converted_by_the_command(
    backpack: Backpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, config, out = tmp_path / "last.ckpt", tmp_path / "config.json", tmp_path / "out"
    torch.save({"state_dict": {f"model.{n}": v for n, v in backpack.state_dict().items()}}, file)
    config.write_text(json.dumps(CONFIG.to_hf()))
    monkeypatch.setattr(sys, "argv", ["convert", str(file), str(config), str(out)])
    main()
    assert torch.equal(load_backpack(out).embedding, backpack.embedding)


@pytest.mark.parametrize("content", [b"", b"\x80\x02}q\x00."])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "last.ckpt").write_bytes(content)
    with pytest.raises(CheckpointError, match="not an archive"):
        read_training_file(tmp_path / "last.ckpt")


@pytest.mark.parametrize("content", [{}, {"state_dict": {"a": 1}}, [torch.zeros(1)]])
def test_a_file_without_weights_is_refused(tmp_path: Path, content: object) -> None:
    torch.save(content, tmp_path / "last.ckpt")
    with pytest.raises(CheckpointError, match="state dict"):
        read_training_file(tmp_path / "last.ckpt")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is missing"):
        read_training_file(tmp_path / "last.ckpt")
