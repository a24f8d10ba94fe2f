"""The parts of a logit sum to it."""

import torch

from models.backpack.editing.overlay import SenseOverlay
from models.backpack.explain import attribute
from models.backpack.network import Backpack

IDS = torch.tensor([[5, 9, 30, 5, 12], [1, 2, 3, 4, 5]])


def test_what_words_and_senses_add_sums_to_the_log_odds(backpack: Backpack) -> None:
    reading = backpack(IDS)
    direction = backpack.embedding[7] - backpack.embedding[8]
    parts = attribute(reading, direction, row=1)
    odds = reading.logits[1, -1, 7] - reading.logits[1, -1, 8]
    torch.testing.assert_close(parts.sum(), odds, atol=1e-4, rtol=0)


def test_it_counts_edited_senses(backpack: Backpack) -> None:
    factors = torch.tensor([0.0, 2.0, 1.0, 1.0])
    overlay = SenseOverlay.of({30: (backpack.senses_of(torch.tensor(30)), factors)})
    reading = backpack(IDS, edits=overlay)
    parts = attribute(reading, backpack.embedding[7])
    torch.testing.assert_close(parts.sum(), reading.logits[0, -1, 7], atol=1e-4, rtol=0)
    assert float(parts[2, 0]) == 0
