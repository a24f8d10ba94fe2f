"""Memory keeps the last states, and is never changed in place."""

import pytest
import torch

from models.ernie_doc.memory import kept_index, start_memory
from models.ernie_doc.model import ErnieDoc
from tests.models.ernie_doc.tiny import CONFIG, segment, tiny_model


@pytest.fixture
def model() -> ErnieDoc:
    return tiny_model()


def test_memory_is_the_tail_of_the_padded_segment(model: ErnieDoc) -> None:
    reading = model(*segment(2, real=5), start_memory(CONFIG, 2))
    assert reading.memory[-1].equal(reading.states[:, -CONFIG.memory :])


def test_memory_of_real_tokens_leaves_padding_out() -> None:
    model = tiny_model(skips_padding=True)
    reading = model(*segment(2, real=5), start_memory(CONFIG, 2))
    assert reading.memory[-1].equal(reading.states[:, 1:5])


def test_a_short_segment_keeps_what_was_in_memory_before() -> None:
    model = tiny_model(skips_padding=True)
    before = torch.randn(CONFIG.layers, 1, CONFIG.memory, CONFIG.width)
    reading = model(*segment(1, real=1), before)
    assert reading.memory[:, :, :-1].equal(before[:, :, 1:])
    assert reading.memory[-1, :, -1].equal(reading.states[:, 0])


def test_real_tokens_behind_the_padding_are_kept_too() -> None:
    mask = torch.tensor([[1.0, 1, 1, 0, 0, 0, 0, 1]])
    model = tiny_model(skips_padding=True)
    assert kept_index(mask, model.config).tolist() == [[4, 5, 6, 11]]


@pytest.mark.parametrize("skips_padding", [False, True])
def test_a_document_that_has_ended_keeps_its_memory(skips_padding: bool) -> None:
    model = tiny_model(skips_padding=skips_padding)
    ids, tasks, mask = segment(2)
    mask = mask * torch.tensor([[1.0], [0.0]])
    before = torch.randn(CONFIG.layers, 2, CONFIG.memory, CONFIG.width)
    memory = model(ids, tasks, mask, before).memory
    assert memory[:, 1].equal(before[:, 1])
    assert not memory[:, 0].equal(before[:, 0])


def test_reading_changes_no_memory_in_place(model: ErnieDoc) -> None:
    memory = torch.randn(CONFIG.layers, 1, CONFIG.memory, CONFIG.width)
    before = memory.clone()
    model(*segment(1), memory)
    assert memory.equal(before)


def test_memory_has_no_gradient() -> None:
    model = tiny_model().requires_grad_(True)
    assert not model(*segment(1), start_memory(CONFIG, 1)).memory.requires_grad
