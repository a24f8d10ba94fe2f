"""The encoder as it is served computes what the encoder of the paper computes, and adapters are added once."""

import pytest
import torch
from safetensors.torch import load_file

from models.encoder.bert import HEADS, LAYERS, WIDTH
from models.encoder.weights import find
from models.kbert import CheckpointError, Encoder, EncoderConfig
from models.kbert.adapters import merged
from models.kbert.answering import Answerer
from models.kbert.batch import Batch, collate
from models.kbert.names import to_uer
from models.kbert.packed import PackedEncoder
from models.kbert.system import KbertSystem
from tests.models.kbert.told import KIM, linked

QUERY = "encoder.layer.5.attention.self.query"


def trees(default: KbertSystem) -> Batch:
    asks = [
        linked("Where was Kim Lee born?", "Kim Lee", KIM),
        linked(
            "Whom did the painter Kim Lee marry?", "Kim Lee", KIM, context="Kim Lee married Ada. It rained."
        ),
    ]
    planted = [one.planted for one in Answerer(default.model).read(asks)]
    return collate([one.row for one in planted if one is not None], default.model.tokens.padding)


def test_it_is_equal_to_the_encoder_of_the_paper(default: KbertSystem) -> None:
    weights = load_file(find().weights)
    vocab, positions = (len(weights[f"embeddings.{name}_embeddings.weight"]) for name in ("word", "position"))
    paper = Encoder(EncoderConfig(vocab, positions, 3, WIDTH, 4 * WIDTH, HEADS, LAYERS, 0.0, "bert")).eval()
    named = to_uer(weights)
    paper.load_state_dict({name: named[name] for name in paper.state_dict()})
    batch = trees(default)
    with torch.inference_mode():
        expected = paper.read(batch)[batch.real]
    torch.testing.assert_close(PackedEncoder.of(weights).read(batch)[batch.real], expected, atol=2e-5, rtol=0)


def test_an_adapter_is_added_to_its_matrix_alone() -> None:
    weights = {f"{QUERY}.weight": torch.ones(4, 4), "other.weight": torch.ones(2, 2)}
    adapters = {f"{QUERY}.A": torch.ones(1, 4), f"{QUERY}.B": torch.full((4, 1), 2.0)}
    found = merged(weights, adapters, scale=0.5)
    assert torch.equal(found[f"{QUERY}.weight"], torch.full((4, 4), 2.0))
    assert torch.equal(found["other.weight"], weights["other.weight"])


@pytest.mark.parametrize(
    "adapters",
    [
        {f"{QUERY}.A": torch.ones(1, 4)},
        {"nowhere.A": torch.ones(1, 4), "nowhere.B": torch.ones(4, 1)},
        {f"{QUERY}.A": torch.ones(1, 3), f"{QUERY}.B": torch.ones(4, 1)},
    ],
)
def test_an_adapter_that_fits_no_matrix_is_refused(adapters: dict[str, torch.Tensor]) -> None:
    with pytest.raises(CheckpointError, match="the adapter of"):
        merged({f"{QUERY}.weight": torch.ones(4, 4)}, adapters, scale=1.0)
