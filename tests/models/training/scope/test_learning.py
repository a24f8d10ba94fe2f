"""The judge learns by the clock, goes on where it stopped, and gives the same output in service as in training."""

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.encoder.minilm import MiniLM
from models.encoder.pairs import PairLayers
from models.kit.checkpoint import WEIGHTS
from models.scope.judge import MIDDLE, Calibration, Judge
from models.scope.readings import pack_tokens
from models.training.kit.progress import Progress
from models.training.scope.__main__ import read_weights, write
from models.training.scope.facts import WrittenFacts
from models.training.scope.pairs import TrainingPair
from models.training.scope.plan import DEFAULT
from models.training.scope.relations import Relations
from models.training.scope.steps import learning
from models.training.scope.steps.learning import Learning
from models.training.scope.steps.net import COSINE, Net, PairTokens
from models.training.scope.steps.supply import Batch, PoolMaker, Source, read_tokens, write_batch
from tests.models.training.scope.conftest import FILES

SMALL = replace(DEFAULT, batch=16, pool=64, warmup=1, lr=1e-3, head_lr=5e-3, dropout=0.0)
PAIRS = [
    TrainingPair("What is the capital of Peru?", "Peru's capital?", True, ""),
    TrainingPair("Who founded Acme?", "When was Acme founded?", False, ""),
    TrainingPair("why " * 90, "Who?", False, ""),
]


@pytest.fixture
def source(tmp_path: Path, relations: Relations, facts: WrittenFacts, sets: Path) -> Source:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return Source(relations.train, facts.train, sets, tmp_path)


@pytest.fixture
def batch(encoder: MiniLM) -> Batch:
    return write_batch(*read_tokens(encoder.tokenizer, PAIRS), [pair.is_same for pair in PAIRS])


def tokens_of(batch: Batch) -> PairTokens:
    return PairTokens.of(batch.ids, batch.first, batch.length, torch.device("cpu"))


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
    plan = replace(SMALL, keep_every_s=10)
    with pytest.raises(KeyboardInterrupt):
        Learning(plan, net).run(progress, stop_after(12, batch), 100, lines.append)
    losses = [float(line.rpartition("loss ")[2]) for line in lines]
    assert losses[-1] < losses[0]
    again = Net()
    assert Learning(plan, again).run(progress, itertools.repeat(batch), 100, lines.append) > 3
    assert "100 s: step" in lines[-1]
    with torch.no_grad():
        verdicts = again(tokens_of(batch)) > 0
    assert verdicts.tolist() == [True, False, False]
    assert Learning(plan, again).run(progress, itertools.repeat(batch), 100, lines.append) == 0
    with pytest.raises(ValueError, match="another plan"):
        Learning(plan, again).run(Progress(tmp_path, "another"), itertools.repeat(batch), 100, lines.append)


def stop_after(steps: int, batch: Batch):  # type: ignore[no-untyped-def]
    yield from itertools.repeat(batch, steps)
    raise KeyboardInterrupt


def test_the_judge_says_what_the_net_says(tmp_path: Path, encoder: MiniLM, batch: Batch) -> None:
    """The outputs are equal for the weights that 8 bits keep, and close in products of 8 bits."""
    torch.manual_seed(1)
    net = Net().eval()
    with torch.no_grad():
        net.sides.normal_(std=0.05)
        net.out.weight.mul_(5)
        net.out.bias.zero_()
    write(tmp_path, net.served_weights(), Calibration(1.0, COSINE, -COSINE * MIDDLE))
    weights = read_weights(tmp_path / WEIGHTS)
    net.load_served(weights)
    first, second = read_tokens(encoder.tokenizer, PAIRS)
    pairs = list(zip(map(pack_tokens, first), map(pack_tokens, second), strict=True))
    tokens = tokens_of(batch)
    with torch.no_grad():
        expected = net(tokens)
        cosines = net.cosines(tokens)
    exact = PairLayers(encoder, weights, in_8_bits=False)(pairs) + COSINE * (cosines - MIDDLE)
    torch.testing.assert_close(exact, expected, atol=1e-3, rtol=1e-4)
    judge = Judge.load(encoder, tmp_path)
    torch.testing.assert_close(judge(pairs, cosines), expected, atol=0.1, rtol=0.1)
    assert judge.tokens(PAIRS[2].first) == pack_tokens(first[2])
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 12e6


def test_pairs_follow_from_the_seed(source: Source) -> None:
    draws = [PoolMaker(SMALL, source, random.Random(5)).draw() for _ in range(2)]
    assert draws[0] == draws[1]
