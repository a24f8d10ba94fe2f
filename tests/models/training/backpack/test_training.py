"""A Backpack learns a toy language."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from models.backpack.reader import Reader
from models.backpack.speller import Speller
from models.training.backpack import training
from models.training.backpack.texts import Texts
from models.training.kit.plan import Plan
from models.training.kit.run import Run
from tests.models.training import toys


@pytest.fixture
def plan() -> Plan:
    return toys.BACKPACK


@pytest.fixture
def texts() -> Texts:
    return toys.backpack_texts()


@pytest.fixture
def speller() -> Speller:
    return toys.speller()


def test_a_training_writes_a_checkpoint_that_opens(
    plan: Plan, cut_pack: Callable[[int], Path], tmp_path: Path
) -> None:
    out, lines, pack = tmp_path / "out", list[str](), cut_pack(40)
    assert not training.train(Run(plan, pack, tmp_path / "work", out, lines.append, until=2))
    assert not out.exists()
    run = Run(plan, pack, tmp_path / "work", out, lines.append)
    assert training.train(run)
    training.measure(run)
    figures = json.loads((out / "measured.json").read_text())
    assert 0 < figures["test"]["n"] <= plan.n_questions
    assert 0 < figures["single"]["n"] <= plan.n_edits
    assert figures["single"]["given"] == figures["sequential"]["given"] == 100
    assert "| sequential |" in (out / "README.md").read_text()
    reader = Reader.load(out)
    assert reader.model.config.width == plan.model.width
    assert reader.speller.say(reader.speller.answer("Lima, Peru")) == "Lima, Peru"
