"""Trainings begin with what the repository has, learn for two steps, and find their data files by themselves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from models.encoder.minilm import MiniLM
from models.nkb.backbone import BackboneConfig
from models.nkb.bank import BankConfig
from models.nkb.reader import DEFAULT as NKB_FOLDER
from models.nkb.system import load
from models.relational.question import TextReader
from models.system import Ask
from models.training import plan as nkb
from models.training import run
from models.training.base import Schedule
from models.training.inject import Recipe
from models.training.kbert import plan as kbert
from models.training.kbert.examples import Examples
from models.training.kbert.learning import Learning
from models.training.kbert.net import Net
from models.training.kbert.prepare import prepare
from models.training.kbert.world import LISTS
from models.training.kit.fingerprint import DataFiles
from models.training.relational import prepare as relational
from models.training.relational.plan import DEFAULT as RELATIONAL

KBERT = replace(
    kbert.DEFAULT,
    steps=2,
    warmup=1,
    mixture=replace(kbert.DEFAULT.mixture, singles=2, pairs=1),
    bend=replace(kbert.DEFAULT.bend, steps=1, folds=1),
)
NKB = replace(
    nkb.DEFAULT,
    vocab=300,
    n_injected=8,
    n_unreplayed=8,
    backbone=BackboneConfig(vocab=300, d_model=16, d_kv=8, d_ff=16, heads=2, layers=1, dropout=0.0),
    base=Schedule(epochs=2, draws=1, batch=64, lr=1e-3, warmup_steps=1, seed=1),
    bank=BankConfig(layers=(0,), size=8, adaptive=False),
    injection=Recipe(epochs=1, batch=64, lr=1e-3, replay_ratio=1, quiet=0.001, seed=1),
    subjects=nkb.SubjectRecipe(phrasings=2, epochs=1, lr=1e-3),
    reference_states=8,
    edits=(("gated", 2),),
)
HANDS = {"hand1.jsonl", "hand2.jsonl", "hand3.jsonl"}
TABLES = {"labels.toml", "practice.toml"}


@contextmanager
def passes() -> Iterator[set[bool]]:
    """Collect whether the modules that run meanwhile compute in a lower precision."""
    kinds = set[bool]()
    handle = nn.modules.module.register_module_forward_pre_hook(
        lambda *_: kinds.add(torch.is_autocast_enabled("cpu"))
    )
    yield kinds
    handle.remove()


@pytest.mark.parametrize("is_quick", [False, True])
def test_kbert_learns_for_two_steps_in_the_precision_that_the_processor_has(
    is_quick: bool, cut_pack: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.training.kit.steps.learns_in_bfloat16", lambda device: is_quick)
    setup = prepare(KBERT, cut_pack(300), tmp_path, lambda line: None)
    assert {path.name for path in setup.files.paths} >= HANDS | TABLES
    examples = Examples(setup.world, KBERT.mixture, KBERT.seed)
    learning = Learning(KBERT, Net(KBERT), examples, setup.ranks, setup.tokens, lambda line: None)
    with passes() as kinds:
        losses = learning.run(None)
    assert len(losses) == KBERT.steps
    assert kinds == {is_quick}


def test_nkb_trains_a_checkpoint_that_opens(
    cut_pack: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "read_names", lambda half: [])
    monkeypatch.setattr("models.training.kit.steps.learns_in_bfloat16", lambda device: False)
    out, lines = tmp_path / "out", list[str]()
    with passes() as kinds:
        run.train_all(NKB, cut_pack(120), tmp_path / "work", out, lines.append)
    assert kinds == {False}
    assert lines[-1] == f"wrote {out}"
    names = {path.name for path in NKB_FOLDER.iterdir()} - {"probe_index.safetensors"}
    assert names <= {path.name for path in out.iterdir()} | {"SHA256SUMS"}
    system = load(torch.device("cpu"), torch.float32, out).system
    (memory,) = load(torch.device("cpu"), torch.float32, out).memories
    (reply,) = system.answer([Ask("Who?")], [{memory.name: memory.view(memory.base)}])
    assert 0 <= reply.score <= 1


def test_the_reader_of_relations_knows_its_phrasings_and_its_practice_relations(
    cut_pack: Callable[[int], Path],
) -> None:
    folder = cut_pack(300)
    setup = relational.prepare(RELATIONAL, folder, TextReader(MiniLM()), lambda line: None)
    files = {path.name for path in setup.files.paths}
    assert files >= HANDS | TABLES


def test_a_fingerprint_follows_from_the_plan_and_from_each_file_that_was_read(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("Lima")
    (tmp_path / "notes.md").write_text("none")
    (tmp_path / "other.tsv").write_text("none")

    def mark(plan: dict[str, int]) -> str:
        with DataFiles(tmp_path) as files:
            (tmp_path / "facts.tsv").read_text()
            (tmp_path / "notes.md").read_text()
        assert {path.name for path in files.paths} == {"facts.tsv"}
        return files.fingerprint(plan)

    before = mark({"lr": 1})
    (tmp_path / "other.tsv").read_text()
    assert mark({"lr": 1}) == before
    assert mark({"lr": 2}) != before
    (tmp_path / "facts.tsv").write_text("Cusco")
    assert mark({"lr": 1}) != before


def test_no_motto_was_renamed() -> None:
    assert "Be prepared" in LISTS["phrase"].split("|")
