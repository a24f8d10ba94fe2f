"""A training continues from its own progress, exactly, and from no other training's."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from torch import nn

from models.packs.files import FILES
from models.packs.pack import WORLD
from models.training.kit.fingerprint import DataFiles
from models.training.kit.progress import FinishedPhase, Progress
from models.training.plan import DEFAULT, Plan, fingerprint
from models.training.tokens import train

ANSWERS = ["Lima", "Cusco", "Buenos Aires"]


def build_model() -> tuple[nn.Linear, torch.optim.Optimizer]:
    model = nn.Linear(3, 2)
    return model, torch.optim.AdamW(model.parameters(), lr=0.1)


def test_progress_of_another_training_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    Progress(tmp_path, "theirs").keep(*build_model(), 3)
    model, optimizer = build_model()
    before = model.weight.clone()
    expected = "holds progress of another plan or pack: delete it and run again"
    with pytest.raises(ValueError, match=expected) as refused:
        Progress(tmp_path, "mine").resume(model, optimizer)
    assert str(tmp_path) in str(refused.value)
    assert torch.equal(model.weight, before)


def test_a_finished_phase_is_found_by_its_own_training_alone(tmp_path: Path) -> None:
    finished, other = (FinishedPhase(tmp_path / "net", training) for training in ("mine", "other"))
    assert finished.load() is None
    finished.save({"w": torch.arange(6.0).view(2, 3).T})
    tensors = finished.load()
    assert tensors is not None
    assert torch.equal(tensors["w"], torch.arange(6.0).view(2, 3).T)
    assert other.load() is None


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return Path(shutil.copytree(WORLD, tmp_path / "world"))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(ANSWERS, 300)


def mark(plan: Plan, folder: Path, tokenizer: Tokenizer) -> str:
    """Return the fingerprint of a training on the pack in a folder."""
    with DataFiles(folder) as files:
        for name in FILES:
            (folder / name).read_text("utf-8")
    return fingerprint(plan, files, tokenizer)


def test_the_same_training_has_the_same_fingerprint(pack: Path, tokenizer: Tokenizer) -> None:
    assert mark(DEFAULT, WORLD, tokenizer) == mark(DEFAULT, pack, train(ANSWERS, 300))


@pytest.mark.parametrize(
    "plan",
    [
        replace(DEFAULT, seed=4321),
        replace(DEFAULT, threads=3),
        replace(DEFAULT, base=replace(DEFAULT.base, lr=1.6e-3)),
        replace(DEFAULT, backbone=replace(DEFAULT.backbone, layers=5)),
    ],
)
def test_another_plan_has_another_fingerprint(plan: Plan, tokenizer: Tokenizer) -> None:
    assert mark(plan, WORLD, tokenizer) != mark(DEFAULT, WORLD, tokenizer)


@pytest.mark.parametrize("name", FILES)
def test_another_pack_has_another_fingerprint(pack: Path, name: str, tokenizer: Tokenizer) -> None:
    (pack / name).write_text((pack / name).read_text("utf-8") + "\n", "utf-8")
    assert mark(DEFAULT, pack, tokenizer) != mark(DEFAULT, WORLD, tokenizer)


def test_another_encoder_has_another_fingerprint(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = mark(DEFAULT, WORLD, tokenizer)
    monkeypatch.setattr("models.training.kit.fingerprint.WEIGHTS_SHA256", "0" * 64)
    assert mark(DEFAULT, WORLD, tokenizer) != original
