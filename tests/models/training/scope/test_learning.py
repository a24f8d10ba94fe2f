"""The judge learns by the clock, goes on where it stopped, and gives the same output in service as in training."""

import itertools
import json
import random
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from models.encoder.minilm import MiniLM
from models.encoder.pairs import PairLayers
from models.kit.checkpoint import WEIGHTS
from models.packs.pack import WORLD, Pack
from models.scope.judge import MIDDLE, Calibration, Judge
from models.scope.readings import pack_tokens
from models.scope.wordings.names import NO_NAMES
from models.training.kit.progress import Progress
from models.training.kit.run import Run
from models.training.scope import training
from models.training.scope.facts import TrainingPair
from models.training.scope.pairs import Source
from models.training.scope.steps import learning
from models.training.scope.steps.batches import Batch, Batches, PoolMaker, read_tokens, write_batch
from models.training.scope.steps.learning import Learning
from models.training.scope.steps.net import COSINE, Net
from models.training.scope.training import PLAN, Setup, read_weights, write
from models.training.scope.trials import ask_written
from models.training.scope.written import WrittenFacts
from models.training.texts.relations import Relations

SMALL = PLAN.change(batch=16, pool=64, warmup=1, lr=1e-3, head_lr=5e-3, dropout=0.0)
PAIRS = [
    TrainingPair("What is the capital of Peru?", "Peru's capital?", True, ""),
    TrainingPair("Who founded Acme?", "When was Acme founded?", False, ""),
    TrainingPair("why " * 90, "Who?", False, ""),
]


@pytest.fixture
def batch(encoder: MiniLM) -> Batch:
    return make_batch(encoder, marks=False)


def make_batch(encoder: MiniLM, marks: bool) -> Batch:
    """Return PAIRS as a batch in which all tokens of a pair have its number as their mark, or none."""
    first, second = read_tokens(encoder.tokenizer, PAIRS)
    rows = [
        (bytes([marks * number]) * (len(a) + len(b)),) * 2
        for number, (a, b) in enumerate(zip(first, second, strict=True), 1)
    ]
    return write_batch(first, second, rows, [pair.is_same for pair in PAIRS])


class Ticks:
    """A clock of which a second passes whenever it is read."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        self.now_s += 1
        return self.now_s


def test_the_loss_falls_and_an_interrupted_training_goes_on(
    tmp_path: Path, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "time", Ticks())
    monkeypatch.setattr(learning, "SAY_EVERY_S", 5.0)
    torch.manual_seed(1)
    net, lines, progress = Net(), list[str](), Progress(tmp_path, "a plan")

    def begin(net: Net, batches: Iterator[Batch]) -> Learning:
        return Learning(SMALL.change(keep_every_s=10), net, batches, 100, lines.append)

    with pytest.raises(KeyboardInterrupt):
        begin(net, stop_after(12, batch)).run(progress)
    losses = [float(line.rpartition("loss ")[2]) for line in lines]
    assert losses[-1] < losses[0]
    again = Net()
    assert len(begin(again, itertools.repeat(batch)).run(progress)) > 3
    assert "100 s: step" in lines[-1]
    with torch.no_grad():
        verdicts = again(batch)[0] > 0
    assert verdicts.tolist() == [True, False, False]
    assert not begin(again, itertools.repeat(batch)).run(progress)
    with pytest.raises(ValueError, match="another plan"):
        begin(again, itertools.repeat(batch)).run(Progress(tmp_path, "another"))


def stop_after(steps: int, batch: Batch):  # type: ignore[no-untyped-def]
    yield from itertools.repeat(batch, steps)
    raise KeyboardInterrupt


def test_the_judge_says_what_the_net_says(tmp_path: Path, encoder: MiniLM, batch: Batch) -> None:
    """The outputs are equal for the weights that 8 bits keep, and close in products of 8 bits."""
    torch.manual_seed(1)
    net = Net().eval()
    with torch.no_grad():
        net.sides.normal_(std=0.05)
        net.marks.normal_(std=0.05)
        net.out.weight.mul_(5)
        net.out.bias.zero_()
    write(tmp_path, net.served_weights(), Calibration(1.0, COSINE, -COSINE * MIDDLE))
    weights = read_weights(tmp_path / WEIGHTS)
    net.load_served(weights)
    first, second = read_tokens(encoder.tokenizer, PAIRS)
    pairs = list(zip(map(pack_tokens, first), map(pack_tokens, second), strict=True))
    with torch.no_grad():
        (expected,), cosines = net(batch), net.cosines(batch)
        orders = net(batch, 2)
    torch.testing.assert_close(orders[0], expected)
    assert not orders[1].allclose(expected)
    layers = PairLayers(encoder, weights, in_8_bits=False)
    exact = layers(pairs) + COSINE * (cosines - MIDDLE)
    torch.testing.assert_close(exact, expected, atol=1e-3, rtol=1e-4)
    with_marks = make_batch(encoder, marks=True)
    with torch.no_grad():
        (with_their_marks,) = net(with_marks)
    marks = [
        bytes(row[:length].tolist()) for row, length in zip(with_marks.marks[0], batch.length, strict=True)
    ]
    torch.testing.assert_close(
        layers(pairs, marks) + COSINE * (cosines - MIDDLE), with_their_marks, atol=1e-3, rtol=1e-4
    )
    assert not with_their_marks.allclose(expected)
    judge = Judge.load(encoder, tmp_path)
    torch.testing.assert_close(judge(pairs, cosines), expected, atol=0.1, rtol=0.1)
    assert judge.tokens(PAIRS[2].first) == pack_tokens(first[2])
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 12e6


def test_pairs_follow_from_the_seed(source: Source) -> None:
    draws = [PoolMaker(SMALL, source, NO_NAMES, random.Random(5)).draw() for _ in range(2)]
    assert draws[0] == draws[1]


def test_a_judge_is_trained_and_measured_in_two_steps(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    encoder: MiniLM,
    relations: Relations,
    facts: WrittenFacts,
    sets: Path,
    wordnet: Path,
    source: Source,
) -> None:
    batches = Batches(SMALL, WORLD, relations.train, facts.train, NO_NAMES, sets, 0, wordnet)
    setup = Setup(encoder, Pack.load(WORLD), relations, facts, sets, batches, source, "a plan")
    trial = ask_written(facts.choose[:2], "two facts")
    monkeypatch.setattr(training, "prepare", lambda run: setup)
    monkeypatch.setattr(training, "make_tests", lambda *_: [trial])
    monkeypatch.setattr(training, "fit_calibration", lambda *_: Calibration(1.0, COSINE, -COSINE * MIDDLE))
    monkeypatch.setattr("models.training.scope.words.N_QUESTIONS", 200)
    out, options = tmp_path / "out", Namespace(minutes=60, device="cpu", start=None, keep=0.5, processes=0)

    def run(until: int | None) -> Run:
        return Run(SMALL, WORLD, tmp_path / "work", out, lambda line: None, until, sets, options)

    assert not training.train(run(2))
    options.minutes = 1e-9
    assert training.train(run(None))
    training.measure(run(None))
    assert json.loads((out / "measured.json").read_text()).keys() == {"two facts"}
    assert "| two facts | 2 |" in (out / "README.md").read_text()
    assert Judge.load(encoder, out).calibration.cosine == COSINE


def test_without_the_editing_sets_a_sentence_says_where_they_are_found(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="give --sets"):
        training.prepare(Run(SMALL, WORLD, tmp_path, tmp_path, print))
