"""Every head reads entities and reads without them; a loss leaves out what has no label."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.heads import (
    NO_LABEL,
    ErnieClassifier,
    ErniePretraining,
    ErnieSpans,
    ErnieTagger,
    ErnieTyping,
    ErnieWithHead,
    PretrainingLabels,
    pretraining_loss,
)
from models.thu_ernie.network import Batch

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
