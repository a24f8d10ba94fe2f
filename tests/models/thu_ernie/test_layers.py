"""A layer hides what its masks hide."""

import torch

from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.layers import Layer, Masks
from models.thu_ernie.network import Batch


def masks(batch: Batch) -> Masks:
    assert batch.is_linked is not None
    return Masks.of(batch.is_real, batch.is_linked, torch.float32)


def test_an_entity_at_a_token_without_a_link_changes_nothing(config: ErnieConfig, batch: Batch) -> None:
    x = torch.randn(2, 9, config.width)
    assert batch.entities is not None
    assert batch.is_linked is not None
    noise = torch.randn_like(batch.entities) * ~batch.is_linked[..., None]
    for kind in ("mix", "norm"):
        layer = Layer(config, kind).eval()
        expected = layer(x, batch.entities, masks(batch))
        actual = layer(x, batch.entities + noise, masks(batch))
        for stream in (0, 1):
            torch.testing.assert_close(actual[stream], expected[stream])


def test_a_plain_layer_passes_entities_through(config: ErnieConfig, batch: Batch) -> None:
    assert batch.entities is not None
    _, entities = Layer(config, "sim").eval()(torch.randn(2, 9, config.width), batch.entities, masks(batch))
    assert entities is batch.entities
