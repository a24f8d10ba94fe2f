"""Without entities in its layers the network is BERT; padding and unlinked vectors do not matter; all of it trains."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from transformers import BertConfig, BertModel

from models.thu_ernie.config import LAYER_TYPES, PUBLISHED_KINDS, ErnieConfig
from models.thu_ernie.heads import ErniePretraining
from models.thu_ernie.network import Batch, Ernie


def test_a_network_of_plain_layers_is_bert(with_kinds: Callable[..., ErnieConfig], batch: Batch) -> None:
    config = with_kinds("sim", "sim")
    sizes = {name: value for name, value in config.to_json().items() if name != LAYER_TYPES}
    model = Ernie(config).eval()
    bert = BertModel(BertConfig(**sizes)).eval()
    bert.load_state_dict(model.state_dict())
    expected = bert(batch.ids, batch.is_real.long(), batch.segments)
    reading = model(batch)
    torch.testing.assert_close(
        reading.tokens[batch.is_real], expected.last_hidden_state[batch.is_real], atol=1e-5, rtol=0
    )
    torch.testing.assert_close(reading.pooled, expected.pooler_output, atol=1e-5, rtol=0)


def test_padding_does_not_matter(config: ErnieConfig, batch: Batch) -> None:
    model = Ernie(config).eval()
    assert batch.entities is not None
    assert batch.is_linked is not None
    parts = (batch.ids, batch.segments, batch.is_real, batch.entities, batch.is_linked)
    alone = Batch(*(part[1:, :6] for part in parts))
    torch.testing.assert_close(model(alone).tokens, model(batch).tokens[1:, :6])
    torch.testing.assert_close(model(alone).pooled, model(batch).pooled[1:])


def test_no_entities_are_a_zero_vector_at_the_first_token(config: ErnieConfig, batch: Batch) -> None:
    model = Ernie(config).eval()
    assert batch.entities is not None
    is_linked = torch.zeros_like(batch.is_real)
    is_linked[:, 0] = True
    zeros = replace(batch, entities=torch.zeros_like(batch.entities), is_linked=is_linked)
    plain = model(batch.without_entities()).tokens
    assert model(zeros).tokens.equal(plain)
    assert not torch.allclose(model(batch).tokens, plain, atol=1e-3)


def test_every_weight_is_trained_but_the_last_way_back_to_the_entities(
    config: ErnieConfig, batch: Batch
) -> None:
    model = ErniePretraining(config).train()
    logits = model(batch, torch.randn(5, config.entity_size))
    (logits.words.square().sum() + logits.entities.square().sum() + logits.order.square().sum()).backward()
    without = {name for name, weight in model.named_parameters() if weight.grad is None}
    last = f"bert.encoder.layer.{len(config.kinds) - 1}.output."
    ends = ("dense_ent.weight", "dense_ent.bias", "LayerNorm_ent.weight", "LayerNorm_ent.bias")
    assert without == {last + end for end in ends}


def test_the_published_base_model_has_as_many_weights_as_the_authors() -> None:
    sizes = {"vocab": 30522, "width": 768, "heads": 12, "inner": 3072, "positions": 512, "segments": 2}
    rest = {"entity_size": 100, "entity_heads": 4, "dropout": 0.1, "attention_dropout": 0.1, "init_std": 0.02}
    with torch.device("meta"):
        model = ErniePretraining(ErnieConfig(**sizes, **rest, kinds=PUBLISHED_KINDS))  # type: ignore[arg-type]
    assert sum(weight.numel() for weight in model.parameters()) == 114_751_532
    assert len(model.state_dict()) == 313


def test_a_text_that_is_too_long_is_refused(config: ErnieConfig) -> None:
    ids = torch.zeros(1, 17, dtype=torch.long)
    with pytest.raises(ValueError, match="17 tokens and the model reads 16"):
        Ernie(config)(Batch(ids, ids, ids == 0))


def test_vectors_of_another_width_are_refused(config: ErnieConfig, batch: Batch) -> None:
    with pytest.raises(ValueError, match="width 10 and the model reads 12"):
        Ernie(config)(replace(batch, entities=torch.zeros(2, 9, 10)))


def test_a_batch_with_half_of_its_entities_is_refused(batch: Batch) -> None:
    with pytest.raises(ValueError, match="or neither"):
        replace(batch, entities=None)
