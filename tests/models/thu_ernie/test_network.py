"""Without entities in its layers the network is BERT; padding and unlinked vectors do not matter; all of it trains.

A layer hides what its masks hide.
Every head reads entities and reads without them; a loss leaves out what has no label.
Two texts become a row and a batch, with a vector where a mention begins and a zero vector at [CLS].
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertModel

from models.kit.text import WordPieces
from models.thu_ernie.align import Link, place_links
from models.thu_ernie.config import LAYER_TYPES, ErnieConfig
from models.thu_ernie.layers import Layer, Masks
from models.thu_ernie.network import Batch, Ernie
from models.thu_ernie.row import Row, collate
from tests.parity.ernie import (
    NO_LABEL,
    ErnieClassifier,
    ErniePretraining,
    ErnieSpans,
    ErnieTagger,
    ErnieTyping,
    ErnieWithHead,
    PretrainingLabels,
    cross_entropy,
    pool,
    pretraining_loss,
    span_loss,
    unlink,
)


def test_a_network_of_plain_layers_is_bert(with_kinds: Callable[..., ErnieConfig], batch: Batch) -> None:
    config = with_kinds("sim", "sim")
    sizes = {name: value for name, value in config.to_json().items() if name != LAYER_TYPES}
    model = Ernie(config).eval()
    bert = BertModel(BertConfig(**sizes)).eval()
    bert.load_state_dict(model.state_dict())
    expected = bert(batch.ids, batch.is_real.long(), batch.segments)
    tokens = model(batch)
    torch.testing.assert_close(
        tokens[batch.is_real], expected.last_hidden_state[batch.is_real], atol=1e-5, rtol=0
    )
    torch.testing.assert_close(pool(model, tokens), expected.pooler_output, atol=1e-5, rtol=0)


def test_padding_does_not_matter(config: ErnieConfig, batch: Batch) -> None:
    model = Ernie(config).eval()
    parts = (batch.ids, batch.segments, batch.is_real, batch.entities, batch.is_linked)
    alone = Batch(*(part[1:, :6] for part in parts))
    torch.testing.assert_close(model(alone), model(batch)[1:, :6])


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
        model = ErniePretraining(ErnieConfig(**sizes, **rest, kinds=("sim",) * 5 + ("mix",) + ("norm",) * 6))  # type: ignore[arg-type]
    assert sum(weight.numel() for weight in model.parameters()) == 114_751_532
    assert len(model.state_dict()) == 313


def test_a_text_that_is_too_long_is_refused(config: ErnieConfig) -> None:
    ids = torch.zeros(1, 17, dtype=torch.long)
    with pytest.raises(ValueError, match="17 tokens and the model reads 16"):
        Ernie(config)(Batch(ids, ids, ids == 0, torch.zeros(1, 17, config.entity_size), ids == 0))


def test_vectors_of_another_width_are_refused(config: ErnieConfig, batch: Batch) -> None:
    with pytest.raises(ValueError, match="width 10 and the model reads 12"):
        Ernie(config)(replace(batch, entities=torch.zeros(2, 9, 10)))


def masks(batch: Batch) -> Masks:
    return Masks.of(batch.is_real, batch.is_linked, torch.float32)


def test_an_entity_at_a_token_without_a_link_changes_nothing(config: ErnieConfig, batch: Batch) -> None:
    x = torch.randn(2, 9, config.width)
    noise = torch.randn_like(batch.entities) * ~batch.is_linked[..., None]
    for kind in ("mix", "norm"):
        layer = Layer(config, kind).eval()
        expected = layer(x, batch.entities, masks(batch))
        actual = layer(x, batch.entities + noise, masks(batch))
        for stream in (0, 1):
            torch.testing.assert_close(actual[stream], expected[stream])


def test_a_plain_layer_passes_entities_through(config: ErnieConfig, batch: Batch) -> None:
    _, entities = Layer(config, "sim").eval()(torch.randn(2, 9, config.width), batch.entities, masks(batch))
    assert entities is batch.entities


HEADS: list[tuple[Callable[[ErnieConfig], ErnieWithHead], tuple[int, ...]]] = [
    (ErnieSpans, (2, 9, 2)),
    (lambda config: ErnieClassifier(config, 5), (2, 5)),
    (lambda config: ErnieTagger(config, 5), (2, 9, 5)),
    (lambda config: ErnieTyping(config, 5), (2, 5)),
]


@pytest.mark.parametrize(("build", "shape"), HEADS)
def test_every_head_reads_entities_and_reads_without_them(
    build: Callable[[ErnieConfig], ErnieWithHead], shape: tuple[int, ...], config: ErnieConfig, batch: Batch
) -> None:
    model = build(config).eval()
    with_links, plain = model(batch), model(unlink(batch))
    assert with_links.shape == plain.shape == shape
    assert not torch.allclose(with_links, plain, atol=1e-4)


def test_an_alignment_is_a_dot_product_without_a_bias(config: ErnieConfig, batch: Batch) -> None:
    model = ErniePretraining(config).eval()
    candidates = torch.randn(4, config.entity_size)
    candidates[0] = 0
    once, twice = model(batch, candidates).entities, model(batch, 2 * candidates).entities
    torch.testing.assert_close(twice, 2 * once)
    assert not once[..., 0].any()


def test_the_word_head_and_the_embedding_are_one_matrix(config: ErnieConfig) -> None:
    model = ErniePretraining(config)
    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight


def test_a_place_without_a_label_is_left_out_of_a_loss() -> None:
    logits, labels = torch.randn(2, 3, 4), torch.tensor([[1, NO_LABEL, 2], [NO_LABEL, NO_LABEL, 0]])
    log_likelihoods = logits.log_softmax(-1)[labels != NO_LABEL]
    expected = -log_likelihoods[torch.arange(3), labels[labels != NO_LABEL]].mean()
    torch.testing.assert_close(cross_entropy(logits, labels), expected)


def test_a_batch_in_which_no_place_has_a_label_trains_nothing() -> None:
    assert cross_entropy(torch.randn(2, 3, 4), torch.full((2, 3), NO_LABEL)) == 0


def test_the_pre_training_loss_is_the_sum_of_three_tasks(config: ErnieConfig, batch: Batch) -> None:
    logits = ErniePretraining(config).eval()(batch, torch.randn(4, config.entity_size))
    words, entities, order = torch.full((2, 9), 3), torch.full((2, 9), 1), torch.tensor([0, 1])
    no_label = torch.full((2, 9), NO_LABEL)

    def loss(words: Tensor, entities: Tensor, order: Tensor) -> Tensor:
        return pretraining_loss(logits, PretrainingLabels(words, entities, order))

    parts = [
        loss(words, no_label, no_label[:, 0]),
        loss(no_label, entities, no_label[:, 0]),
        loss(no_label, no_label, order),
    ]
    assert all(part > 0 for part in parts)
    torch.testing.assert_close(loss(words, entities, order), torch.stack(parts).sum())


def test_the_loss_of_a_span_is_least_where_both_ends_are_right() -> None:
    logits = torch.zeros(1, 5, 2)
    logits[0, 1, 0], logits[0, 3, 1] = 9.0, 9.0
    right, half = (span_loss(logits, torch.tensor([1]), torch.tensor([end])) for end in (3, 4))
    assert right < 0.01 < half


JIM = Link("Q1", 0, 3, 1.0)


VECTORS = {"Q1": torch.tensor([1.0, 2.0]), "Q2": torch.tensor([3.0, 4.0])}


def row(vocabulary: WordPieces, *texts: tuple[str, list[Link]]) -> Row:
    return Row.of([place_links(text, links, vocabulary) for text, links in texts], vocabulary)


def test_a_pair_has_two_segments_and_its_mentions_behind_the_separator(vocabulary: WordPieces) -> None:
    pair = row(vocabulary, ("who was", []), ("jim", [JIM]))
    assert [token.text for token in pair.tokens] == ["[CLS]", "who", "was", "[SEP]", "jim", "[SEP]"]
    assert pair.segments == (0, 0, 0, 0, 1, 1)
    assert pair.links == {4: JIM}


def test_a_batch_has_vectors_at_mentions_and_a_zero_vector_at_cls(vocabulary: WordPieces) -> None:
    rows = [row(vocabulary, ("jim was a cafe", [JIM, Link("Q2", 10, 14, 1.0)])), row(vocabulary, ("jim", []))]
    batch = collate(rows, VECTORS, 2, padding=0)
    assert batch.ids.shape == (2, 6)
    assert batch.is_real.sum(1).tolist() == [6, 3]
    assert batch.is_linked.nonzero().tolist() == [[0, 0], [0, 1], [0, 4], [1, 0]]
    assert batch.entities[0, [0, 1, 4]].tolist() == [[0, 0], [1, 2], [3, 4]]
    assert not batch.entities[1].any()


def test_a_link_without_a_vector_is_not_linked(vocabulary: WordPieces) -> None:
    unknown = row(vocabulary, ("jim", [Link("Q9", 0, 3, 1.0)]))
    batch = collate([unknown], VECTORS, 2, padding=0)
    assert batch.is_linked.tolist() == [[True, False, False]]
