"""The paper's example, a vocabulary for it, small encoders with random weights, and the default checkpoint."""

from collections.abc import Callable, Mapping, Sequence

import pytest
import torch
from transformers import BertConfig, BertModel

from models.graph.memory import GraphMemory, graph_memory
from models.kbert.checkpoint import load
from models.kbert.encoder import Encoder
from models.kbert.row import Row
from models.kbert.system import KbertSystem
from models.kit.text import CLS, SPECIAL_TOKENS
from models.reading.checkpoint import load as load_reader
from tests.one_thread import one_thread as one_thread
from tests.parity.authors import Characters, read_words

GRAPH = {"苹果": ["产地山东", "属于水果"], "北京": ["是首都"]}
LETTERS = "爱吃苹果哈在北京产地山东属于水是首都好"
HEADS = 4


@pytest.fixture(scope="session")
def characters() -> Characters:
    tokens = (*SPECIAL_TOKENS, *dict.fromkeys(LETTERS))
    return Characters({token: place for place, token in enumerate(tokens)})


@pytest.fixture
def read(characters: Characters) -> Callable[..., Row]:
    """Return words of the paper's example as a row, after [CLS]."""

    def make(*words: str, graph: Mapping[str, Sequence[str]] = GRAPH) -> Row:
        return read_words([CLS, *words], graph, characters, 2, "single")

    return make


def small_bert(seed: int = 3, layers: int = 3) -> BertModel:
    """Make a BERT with random weights, large enough that every token matters."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=120,
        max_position_embeddings=64,
        hidden_size=32,
        intermediate_size=64,
        num_attention_heads=HEADS,
        num_hidden_layers=layers,
        initializer_range=0.3,
    )
    bert = BertModel(config, add_pooling_layer=False).eval().requires_grad_(False)
    for name, parameter in bert.named_parameters():
        if "bias" in name or "LayerNorm" in name:
            parameter += torch.randn_like(parameter) * 0.2
    return bert


@pytest.fixture
def build() -> Callable[..., Encoder]:
    def make(layers: int = 3) -> Encoder:
        return Encoder.from_weights(small_bert(layers=layers).state_dict(), heads=HEADS)

    return make


@pytest.fixture(scope="session")
def default(device: torch.device) -> KbertSystem:
    """The default checkpoint."""
    return KbertSystem(load(device=device), load_reader(device=device))


@pytest.fixture(scope="session")
def graph() -> GraphMemory:
    """Return the pack's graph, which the default checkpoint reads."""
    return graph_memory()
