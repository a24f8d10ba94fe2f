"""Orders of parts have 33 classes, and both heads learn."""

from itertools import permutations

import pytest
import torch
import torch.nn.functional as F

from models.ernie_doc.memory import start_memory
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.pretraining import N_ORDERS, PretrainingHeads, order_class
from tests.models.ernie_doc.tiny import CONFIG, segment


def test_every_order_of_up_to_four_parts_has_its_class() -> None:
    classes = [order_class(order) for parts in range(1, 5) for order in permutations(range(parts))]
    assert classes == list(range(33))
    assert N_ORDERS == 33


@pytest.mark.parametrize("order", [(), (1,), (0, 0), (0, 1, 2, 3, 4)])
def test_what_is_no_order_is_refused(order: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="is no order of 1 to 4 parts"):
        order_class(order)


def test_both_heads_learn_from_one_segment() -> None:
    model, heads = ErnieDoc(CONFIG), PretrainingHeads(CONFIG)
    words, orders = segment(2), torch.tensor([3, 20])
    optimizer = torch.optim.AdamW([*model.parameters(), *heads.parameters()], lr=1e-2)

    def learn() -> float:
        reading = model(*words, start_memory(CONFIG, 2))
        word_logits = heads.word_logits(reading.states[:, 2], model.embeddings.word_emb.weight)
        loss = F.cross_entropy(word_logits, words[0][:, 2])
        loss = loss + F.cross_entropy(heads.order_logits(reading.pooled), orders)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    losses = [learn() for _ in range(30)]
    assert losses[0] > 6.0  # log 33 + log 40 is 7.2
    assert losses[-1] < 0.5
