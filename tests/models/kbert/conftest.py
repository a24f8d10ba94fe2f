"""The paper's example, a vocabulary for it, and small encoders with random weights."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.graph.memory import GraphMemory, graph_memory
from models.kbert import (
    Characters,
    Encoder,
    EncoderConfig,
    Graph,
    LongestMatch,
    Reader,
    ReadingConfig,
    Triple,
)
from models.kbert.default import load
from models.kbert.encoder import fresh
from models.kbert.system import KbertSystem
from models.kbert.tags import CLS, MASK, PAD, SEP, UNK
from tests.one_thread import one_thread as one_thread

TRIPLES = (
    Triple("苹果", "产地", "山东", "fruit.spo", 1),
    Triple("苹果", "属于", "水果", "fruit.spo", 2),
    Triple("北京", "是", "首都", "fruit.spo", 3),
)
LETTERS = "爱吃苹果哈在北京产地山东属于水是首都好abcdefghijklmnopqrstuvwxyz.?"


@pytest.fixture
def vocabulary() -> dict[str, int]:
    return {token: place for place, token in enumerate([PAD, UNK, CLS, SEP, MASK, *dict.fromkeys(LETTERS)])}


@pytest.fixture
def tokens(vocabulary: dict[str, int]) -> Characters:
    return Characters(vocabulary)


@pytest.fixture
def reader(tokens: Characters) -> Callable[..., Reader]:
    """A reader of the paper's graph, or of other triples."""

    def make(*triples: Triple, predicate: bool = True, **options: Any) -> Reader:
        graph = Graph(triples or TRIPLES, predicate=predicate)
        rank = options.pop("rank", None)
        inline_tags = options.pop("inline_tags", False)
        config = ReadingConfig(**{"max_length": 32, "max_entities": 2} | options)
        return Reader(config, tokens, LongestMatch(graph.subjects(), inline_tags=inline_tags), graph, rank)

    return make


@pytest.fixture
def small() -> Callable[..., EncoderConfig]:
    def make(**changes: Any) -> EncoderConfig:
        sizes = {"vocab": 120, "positions": 64, "segments": 3, "hidden": 32, "feedforward": 64}
        rest = {"heads": 4, "layers": 3, "dropout": 0.1, "norm": "uer"}
        return EncoderConfig(**sizes | rest | changes)

    return make


@pytest.fixture
def build(small: Callable[..., EncoderConfig]) -> Callable[..., Encoder]:
    """An encoder with random weights, large enough that every token matters."""

    def make(seed: int = 3, **changes: Any) -> Encoder:
        torch.manual_seed(seed)
        encoder = fresh(Encoder(small(**changes))).eval()
        with torch.no_grad():
            for parameter in encoder.parameters():
                if parameter.dim() > 1:
                    parameter *= 8
        return encoder.requires_grad_(False)

    return make


@pytest.fixture(scope="session")
def default() -> KbertSystem:
    """The default checkpoint."""
    return KbertSystem(load())


@pytest.fixture(scope="session")
def graph() -> GraphMemory:
    """The pack's graph, which the default checkpoint reads."""
    return graph_memory()
