"""The layers on ONNX Runtime read as torch's do; in 8 bits a text has the same bits beside any others."""

import pytest
import torch
from torch import Tensor

from models.encoder.bert import PackedBert
from models.encoder.layers import DEFAULT, EXACT, QUICK, ExactLayers, QuickLayers, make_layers
from models.encoder.minilm import MiniLM
from models.encoder.weights import find
from models.training.scope.graph import TOP, ExactGraph, Graph, write_graph

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


def test_the_graphs_are_those_that_are_written() -> None:
    assert (DEFAULT / QUICK).read_bytes() == write_graph(Graph())
    assert (DEFAULT / EXACT).read_bytes() == write_graph(ExactGraph())


@pytest.mark.parametrize("seed", range(3))
def test_in_float32_any_tokens_may_attend_to_any_as_in_torch(seed: int) -> None:
    embedded, lengths = embed(*TEXTS)
    is_real = torch.arange(int(lengths.max())) < lengths[:, None]
    chance = torch.rand(len(TEXTS), *2 * is_real.shape[1:], generator=torch.Generator().manual_seed(seed))
    for may_attend in (is_real[:, None], (chance < 0.5) & is_real[:, None]):
        expected, states = (
            layers(embedded, is_real, may_attend)
            for layers in (PackedBert.from_weights(find().weights), ExactLayers(find().weights))
        )
        torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)


def test_other_shapes_and_dtypes_are_computed_by_torch() -> None:
    weights = dict(find().weights)
    assert isinstance(make_layers(weights), ExactLayers)
    assert isinstance(make_layers(weights, torch.bfloat16), PackedBert)
    assert isinstance(make_layers(weights, norm="uer"), PackedBert)
    fewer = {name: weight for name, weight in weights.items() if not name.startswith("encoder.layer.5.")}
    assert isinstance(make_layers(fewer), PackedBert)


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
