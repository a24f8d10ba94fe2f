"""A training continues from its own progress, exactly, and from no other training's."""

import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

from models.packs.files import FILES
from models.packs.pack import WORLD
from models.training.kit.fingerprint import DataFiles
from models.training.kit.plan import Plan
from models.training.kit.progress import FinishedPhase, Progress


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


PLAN = Plan({"seed": 1, "base": {"lr": 1.5e-3}})


def mark(plan: Plan, folder: Path) -> str:
    """Return the fingerprint of a training on the pack in a folder."""
    with DataFiles(folder) as files:
        for name in FILES:
            (folder / name).read_text("utf-8")
    return files.fingerprint(plan.to_json(), tokenizer="same")


def test_the_same_training_has_the_same_fingerprint(pack: Path) -> None:
    assert mark(PLAN, WORLD) == mark(PLAN.change(), pack)


@pytest.mark.parametrize("plan", [PLAN.change(seed=4321), PLAN.change(base={"lr": 1.6e-3})])
def test_another_plan_has_another_fingerprint(plan: Plan) -> None:
    assert mark(plan, WORLD) != mark(PLAN, WORLD)


@pytest.mark.parametrize("name", FILES)
def test_another_pack_has_another_fingerprint(pack: Path, name: str) -> None:
    (pack / name).write_text((pack / name).read_text("utf-8") + "\n", "utf-8")
    assert mark(PLAN, pack) != mark(PLAN, WORLD)


def test_another_encoder_has_another_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    original = mark(PLAN, WORLD)
    monkeypatch.setattr("models.training.kit.fingerprint.WEIGHTS_SHA256", "0" * 64)
    assert mark(PLAN, WORLD) != original
