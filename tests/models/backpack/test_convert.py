"""Files of the training code become safetensors, and none of their code runs."""

import json
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import torch

from models.backpack.checkpoint import load_backpack, main, read_training_file
from models.backpack.network import Backpack
from models.kit.checkpoint import CheckpointError
from tests.models.backpack.conftest import CONFIG


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
