"""Trainings begin with what the repository has, learn for two steps, and find their data files by themselves."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn

from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.kit.text import WordPieces
from models.nkb.reader import FILES as NKB_FILES
from models.packs.pack import WORLD
from models.relational.question import TextReader
from models.training.kbert import training as kbert
from models.training.kbert.exam import draw_groups
from models.training.kbert.examples import Examples
from models.training.kbert.learning import Learning, Net
from models.training.kbert.ranks import mask_phrasings
from models.training.kbert.texts import Texts
from models.training.kbert.training import PLAN, prepare
from models.training.kit import steps
from models.training.kit.fingerprint import DataFiles
from models.training.kit.run import Run
from models.training.nkb import training as nkb
from models.training.relational import training as relational
from models.training.texts.inventions import LISTS
from models.training.texts.relations import RelationText

KBERT = PLAN.change(steps=2, warmup=1, mixture={"singles": 2, "pairs": 1}, bend={"steps": 1, "folds": 2})
NKB = nkb.PLAN.change(
    vocab=300,
    n_injected=8,
    n_unreplayed=8,
    wordings={"n_trained": 2},
    backbone={"vocab": 300, "d_model": 16, "d_kv": 8, "d_ff": 16, "heads": 2, "layers": 1},
    base={"epochs": 2, "draws": 1, "warmup": 1},
    bank={"layers": (0,), "size": 8},
    injection={"epochs": 1, "batch": 64, "replay_ratio": 1, "warmup": 1},
    subjects={"phrasings": 2, "epochs": 1, "warmup": 1},
    reference_states=8,
    edits=(("gated", 8),),
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


def test_kbert_learns_for_two_steps_in_the_precision_that_the_processor_has(
    cut_pack: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two_phrasings(relation: RelationText) -> list[str]:
        return mask_phrasings(relation)[:2]

    for module in ("ranks", "training"):  # all phrasings take the encoder a minute
        monkeypatch.setattr(f"models.training.kbert.{module}.mask_phrasings", two_phrasings)
    pack = cut_pack(300)
    texts = Texts.read(KBERT, pack)
    assert {path.name for path in texts.files.paths} >= HANDS | TABLES
    world, _, ranks = prepare(Run(KBERT, pack, tmp_path, tmp_path, lambda line: None), texts)
    examples, tokens = Examples(world, KBERT.mixture, KBERT.seed), WordPieces(find().tokenizer())
    for is_quick in (False, True):
        monkeypatch.setattr(steps, "learns_in_bfloat16", lambda device, is_quick=is_quick: is_quick)
        learning = Learning(KBERT, Net(KBERT), examples, ranks, tokens, lambda line: None)
        with passes() as kinds:
            assert len(learning.run(None)) == KBERT.steps
        assert kinds == {is_quick}


def test_kbert_trains_a_checkpoint_that_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("ranks", "training"):
        monkeypatch.setattr(f"models.training.kbert.{module}.mask_phrasings", lambda text: [text.labels[0]])
    for name, number in (("CHOICES", 4), ("PER_RELATION", 1), ("EVERY", 2500)):
        monkeypatch.setattr(f"models.training.kbert.calibrate.{name}", number)
    monkeypatch.setattr(
        kbert, "draw_groups", lambda *of: {k: part[:2] for k, part in draw_groups(*of).items()}
    )
    plan, out = KBERT.change(exam={"edits": 4, "choices": 2}), tmp_path / "out"
    assert not kbert.train(Run(plan, WORLD, tmp_path, out, print, until=1))
    run = Run(plan, WORLD, tmp_path, out, print)
    assert kbert.train(run)
    kbert.measure(run)
    figures = json.loads((out / "measured.json").read_text())
    assert figures["phrasings"]["n"] == figures["absent_crowded"]["n"] == 2
    assert figures["edits"]["n"] == 4
    assert "| phrasings_crowded |" in (out / "README.md").read_text()


def test_the_reader_of_relations_trains_a_checkpoint_that_opens(tmp_path: Path) -> None:
    plan, out = relational.PLAN.change(steps=2, keep_every=1, batch=4, warmup=1, n_exam=2), tmp_path / "out"
    assert not relational.train(Run(plan, WORLD, tmp_path, out, print, until=1))
    run = Run(plan, WORLD, tmp_path, out, print)
    assert relational.train(run)
    relational.measure(run)
    figures = json.loads((out / "measured.json").read_text())
    assert figures["3 hops, with a subject"]["n"] == figures["2 hops, new relations"]["n"] == 2
    assert "| 3 hops, facts of the pack |" in (out / "README.md").read_text()


def test_nkb_trains_a_checkpoint_that_opens(
    cut_pack: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nkb, "read_names", lambda half: [])
    monkeypatch.setattr(steps, "learns_in_bfloat16", lambda device: False)
    work, out, lines, pack = tmp_path / "work", tmp_path / "out", list[str](), cut_pack(200)
    assert not nkb.train(Run(NKB, pack, work, out, lines.append, until=1))
    run = Run(NKB, pack, work, out, lines.append)
    with passes() as kinds:
        assert nkb.train(run)
    assert kinds == {False}
    nkb.measure(run)
    figures = json.loads((out / "measured.json").read_text())
    assert figures["injected_held"]["n"] == figures["before: injected_held"]["n"] == 8
    assert figures["8 gated edits"]["n"] > 0
    assert "exact match before any threshold" in (out / "README.md").read_text()
    assert {*NKB_FILES, "SHA256SUMS"} <= {path.name for path in out.iterdir()}


def test_the_reader_of_relations_knows_its_phrasings_and_its_practice_relations(
    cut_pack: Callable[[int], Path],
) -> None:
    folder = cut_pack(300)
    files, _, _ = relational.prepare(relational.PLAN, folder, TextReader(MiniLM()))
    assert {path.name for path in files.paths} >= HANDS | TABLES


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
    assert "Be prepared" in LISTS["phrase"]
