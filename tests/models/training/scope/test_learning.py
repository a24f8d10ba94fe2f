"""The judge learns, goes on where it stopped, and gives the same output in service as in training."""

import random
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from models.encoder.minilm import MiniLM
from models.packs.pack import WORLD, Pack
from models.scope.judge import MIDDLE, Calibration, Judge
from models.scope.readings import pack_tokens
from models.training.progress import Progress
from models.training.scope.__main__ import write
from models.training.scope.facts import WrittenFacts
from models.training.scope.graph import quantize
from models.training.scope.learning import Learning, cosines_of, read_tokens
from models.training.scope.names import Names
from models.training.scope.natural import Natural
from models.training.scope.net import COSINE, Net
from models.training.scope.pairs import PairMaker, TrainingPair, read_forms
from models.training.scope.plan import DEFAULT, Plan
from models.training.scope.relations import Relations
from models.training.scope.rewrites import Rewriter
from models.training.scope.wordnet import WordNet

SMALL_STAGE = replace(DEFAULT.stages[0], steps=4, warmup=2)
SMALL = replace(DEFAULT, batch=2, pool=8, keep_every=4, stages=(SMALL_STAGE, SMALL_STAGE))
PAIRS = [
    TrainingPair("What is the capital of Peru?", "Peru's capital?", True, ""),
    TrainingPair("Who founded Acme?", "When was Acme founded?", False, ""),
    TrainingPair("why " * 90, "Who?", False, ""),
]


def learn(
    plan: Plan,
    folder: Path,
    encoder: MiniLM,
    relations: Relations,
    facts: WrittenFacts,
    sets: Path,
    wordnet: WordNet,
) -> Net:
    forms = read_forms()
    names = Names(Pack.load(WORLD), "train", forms)
    make = partial(
        PairMaker, relations.train, names, Natural(sets), facts.train, Rewriter(forms, wordnet), forms
    )
    torch.manual_seed(plan.seed)
    net = Net(encoder)
    Learning(plan, net, encoder, make).run(Progress(folder, "a plan"), lambda line: None)
    return net


def test_it_goes_on_where_it_stopped(
    tmp_path: Path,
    encoder: MiniLM,
    relations: Relations,
    facts: WrittenFacts,
    sets: Path,
    wordnet: WordNet,
) -> None:
    folders = [tmp_path / name for name in ("whole", "halves")]
    for folder in folders:
        folder.mkdir()
    whole = learn(SMALL, folders[0], encoder, relations, facts, sets, wordnet)
    torch.manual_seed(0)
    interruption = pytest.MonkeyPatch()
    with interruption.context() as patch:
        patch.setattr(Learning, "_batches", _stop_after(4, Learning._batches))
        with pytest.raises(KeyboardInterrupt):
            learn(SMALL, folders[1], encoder, relations, facts, sets, wordnet)
    halves = learn(SMALL, folders[1], encoder, relations, facts, sets, wordnet)
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, halves.state_dict()[name]), name


def _stop_after(steps: int, batches):  # type: ignore[no-untyped-def]
    def stopping(self: Learning, step: int):  # type: ignore[no-untyped-def]
        if step >= steps:
            raise KeyboardInterrupt
        yield from batches(self, step)

    return stopping


def test_the_graph_says_what_the_net_says(tmp_path: Path, encoder: MiniLM) -> None:
    """The outputs are equal to torch's for weights that 8 bits keep, and close to them for trained weights."""
    torch.manual_seed(1)
    net = Net(encoder).eval()
    with torch.no_grad():
        net.sides.normal_(std=0.05)
        net.out.weight.mul_(5)
    write(tmp_path, net.served_weights(), Calibration(1.0, COSINE, -COSINE * MIDDLE))
    judge = Judge.load(encoder, tmp_path)
    first, second = read_tokens(encoder, PAIRS)
    cosines = cosines_of(encoder, PAIRS)
    pairs = list(zip(map(pack_tokens, first), map(pack_tokens, second), strict=True))
    with torch.no_grad():
        torch.testing.assert_close(judge(pairs, cosines), net(first, second, cosines), atol=0.1, rtol=0.1)
        for name, weight in net.layers.named_parameters():
            if weight.dim() == 2 and "LayerNorm" not in name:
                codes, scale = quantize(weight.numpy())
                weight.copy_(torch.from_numpy(codes * scale))
        torch.testing.assert_close(judge(pairs, cosines), net(first, second, cosines), atol=1e-3, rtol=1e-4)
    assert judge.tokens(PAIRS[2].first) == pack_tokens(first[2])
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 12e6


def test_the_pairs_of_a_step_follow_from_the_seed(
    encoder: MiniLM, relations: Relations, facts: WrittenFacts, sets: Path, wordnet: WordNet
) -> None:
    forms = read_forms()
    names = Names(Pack.load(WORLD), "train", forms)
    make = partial(
        PairMaker, relations.train, names, Natural(sets), facts.train, Rewriter(forms, wordnet), forms
    )
    draws = [make(random.Random("5/16")).draw(50, DEFAULT.stages[0]) for _ in range(2)]
    assert draws[0] == draws[1]


def test_each_stage_ends_with_a_whole_pool_and_has_rates_of_its_own() -> None:
    plan = replace(DEFAULT, batch=4, pool=16, stages=(replace(SMALL_STAGE, steps=5), SMALL_STAGE))
    assert plan.steps == 12
    assert [plan.stage_at(step) for step in (0, 7)] == [(plan.stages[0], 0), (plan.stages[0], 7)]
    assert [plan.stage_at(step) for step in (8, 11)] == [(plan.stages[1], 0), (plan.stages[1], 3)]
