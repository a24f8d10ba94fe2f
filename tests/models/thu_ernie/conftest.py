"""A small THU-ERNIE with every kind of layer, and a batch of texts that name entities."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from models.kit.text import WordPieces
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.network import Batch
from tests.parity.ernie import build_pieces

WORDS = (
    *(
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "who",
        "was",
        "jim",
        "henson",
        "?",
        "(",
        ")",
        "a",
        "puppet",
    ),
    *("##eer", "北", "京", "cafe", "[", "]", "mask"),
)


@pytest.fixture(scope="session")
def vocabulary() -> WordPieces:
    return build_pieces(WORDS)


@pytest.fixture(scope="session")
def config() -> ErnieConfig:
    return ErnieConfig(
        vocab=60,
        width=24,
        heads=3,
        inner=32,
        positions=16,
        segments=2,
        kinds=("sim", "mix", "norm", "norm"),
        entity_size=12,
        entity_heads=4,
        dropout=0.1,
        attention_dropout=0.1,
        init_std=0.2,
    )


@pytest.fixture
def batch(config: ErnieConfig) -> Batch:
    """Two texts, the second shorter; the first names two entities, the second one."""
    is_real = torch.arange(9) < torch.tensor([[9], [6]])
    is_linked = torch.zeros(2, 9, dtype=torch.bool)
    is_linked[:, [0, 3]], is_linked[0, 7] = True, True
    entities = torch.randn(2, 9, config.entity_size) * is_linked[..., None]
    entities[:, 0] = 0
    ids = torch.randint(config.vocab, (2, 9)) * is_real
    return Batch(ids, torch.zeros(2, 9, dtype=torch.long), is_real, entities, is_linked)


@pytest.fixture
def with_kinds(config: ErnieConfig) -> Callable[..., ErnieConfig]:
    return lambda *kinds: replace(config, kinds=kinds)
