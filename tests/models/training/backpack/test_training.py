"""A whole training, from a pack to a checkpoint that opens, with both networks on its card."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from models.backpack.answering.reader import Reader
from models.training.backpack import __main__ as training
from models.training.backpack.plan import Plan

N_FACTS = 40


def test_a_training_writes_a_checkpoint_that_opens(
    plan: Plan, cut_pack: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack_folder = cut_pack(N_FACTS)
    for name in ("N_QUESTIONS", "N_CHOICES", "N_DOCUMENTS", "N_EDITS"):
        monkeypatch.setattr(training, name, 6)
    out = tmp_path / "out"
    lines: list[str] = []
    for is_plain in (False, True):
        work = tmp_path / f"work-{is_plain}"
        training.train(plan, pack_folder, work, out, is_plain, 2, lines.append)
        assert not (out / "README.md").exists() or is_plain
        training.train(plan, pack_folder, work, out, is_plain, None, lines.append)
    assert lines[-1] == f"wrote {out}"
    figures = json.loads((out / "measured.json").read_text())
    assert set(figures) == {"backpack", "plain"}
    assert set(figures["plain"]) < set(figures["backpack"])
    assert figures["backpack"]["edits_hold"] == 100
    reader = Reader.load(out)
    assert reader.model.config == plan.model
    assert reader.speller.say(reader.speller.answer("Lima, Peru")) == "Lima, Peru"
