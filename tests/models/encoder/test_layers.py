"""The layers in 8 bits read as torch's do, and a text has the same bits beside any others."""

import pytest
import torch
from torch import Tensor

from models.encoder.bert import PackedBert
from models.encoder.layers import DEFAULT, GRAPH, QuickLayers
from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.training.scope.graph import TOP, write_graph

TEXTS = [
    "What is the capital of Peru?",
    "x",
    "Which language do people in Peru speak at home?",
    "Zürich 東京",
]


@pytest.fixture(scope="module")
def layers() -> QuickLayers:
    return QuickLayers(find().weights)


def embed(*texts: str) -> tuple[Tensor, Tensor]:
    """Return the tokens of texts, embedded, and their lengths."""
    minilm = MiniLM()
    rows = [minilm.tokens(text)[0] for text in texts]
    parts = [minilm.embed(torch.tensor(row), torch.arange(len(row))) for row in rows]
    return torch.cat(parts), torch.tensor([len(row) for row in rows])


def test_the_graph_is_the_one_that_is_written() -> None:
    assert (DEFAULT / GRAPH).read_bytes() == write_graph()


def test_two_products_of_8_bits_fit_in_16() -> None:
    """A processor with AVX2 and without VNNI cuts a larger sum."""
    assert 2 * TOP * 127 < 1 << 15


def test_states_are_close_to_those_of_torch(layers: QuickLayers) -> None:
    embedded, lengths = embed(*TEXTS)
    is_real = torch.arange(int(lengths.max())) < lengths[:, None]
    expected = PackedBert.from_weights(find().weights)(embedded, is_real, is_real[:, None])[is_real]
    states = layers(embedded, lengths, torch.arange(len(embedded)))
    cosines = torch.cosine_similarity(states, expected, dim=1)
    assert cosines.mean() > 0.98
    assert cosines.min() > 0.95
    rows = torch.tensor([3, 0, 9])
    assert torch.equal(layers(embedded, lengths, rows), states[rows])


def test_a_text_has_the_same_bits_beside_others(layers: QuickLayers) -> None:
    short = TEXTS[1], TEXTS[3], "Peru"
    embedded, lengths = embed(*short)
    alone = [layers(*embed(text), torch.tensor([0])) for text in short]
    assert torch.equal(layers(embedded, lengths, lengths.cumsum(0) - lengths), torch.cat(alone))


def test_tokens_that_are_all_zero_are_read(layers: QuickLayers) -> None:
    assert layers(torch.zeros(3, 384), torch.tensor([3]), torch.arange(3)).isfinite().all()
