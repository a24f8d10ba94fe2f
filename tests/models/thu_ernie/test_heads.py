"""Every head reads entities and reads without them; a loss leaves out what has no label."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.heads import ErniePretraining, ErnieWithHead
from models.thu_ernie.network import Batch
from tests.parity.ernie_heads import (
    NO_LABEL,
    ErnieClassifier,
    ErnieSpans,
    ErnieTagger,
    ErnieTyping,
    PretrainingLabels,
    cross_entropy,
    pretraining_loss,
    span_loss,
)

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
    with_links, plain = model(batch), model(batch.without_entities())
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
