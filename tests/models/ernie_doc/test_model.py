"""A document is read row by row on its own, can be trained and exported, and refuses segments of another length."""

import torch

from models.ernie_doc.memory import start_memory
from tests.models.ernie_doc.tiny import CONFIG, segment, tiny_model


def test_rows_of_a_batch_do_not_meet() -> None:
    model = tiny_model()
    ids, tasks, mask = segment(3)
    memory = torch.randn(CONFIG.layers, 3, CONFIG.memory, CONFIG.width)
    together = model(ids, tasks, mask, memory)
    for row in range(3):
        place = slice(row, row + 1)
        alone = model(ids[place], tasks[place], mask[place], memory[:, place])
        torch.testing.assert_close(alone.states, together.states[place])
        torch.testing.assert_close(alone.memory, together.memory[:, place])


def test_words_behind_the_mask_change_no_real_token() -> None:
    model = tiny_model()
    ids, tasks, mask = segment(1, real=5)
    other = torch.where(mask > 0, ids, 7)
    memory = start_memory(CONFIG, 1)
    expected, actual = model(ids, tasks, mask, memory), model(other, tasks, mask, memory)
    torch.testing.assert_close(actual.states[:, :5], expected.states[:, :5], rtol=0, atol=0)


def test_what_was_read_before_reaches_the_next_segment() -> None:
    model, second = tiny_model(), segment(1)
    memories = [model(*segment(1), start_memory(CONFIG, 1)).memory for _ in range(2)]
    states = [model(*second, memory).states for memory in memories]
    assert not torch.allclose(*states, atol=1e-2)


def test_every_weight_learns_from_spans_and_the_pooled_output() -> None:
    model = tiny_model().requires_grad_(True)
    ids, tasks, mask = segment(2)
    reading = model(ids, tasks, mask, torch.randn(CONFIG.layers, 2, CONFIG.memory, CONFIG.width))
    (model.span_logits(reading.states, mask).square().mean() + reading.pooled.square().mean()).backward()
    without = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    assert without == set()


def test_it_is_exported_with_its_memory_as_one_tensor() -> None:
    model, inputs = tiny_model(), (*segment(1), start_memory(CONFIG, 1))
    program = torch.export.export(model, inputs).module()
    for actual, expected in zip(program(*inputs), model(*inputs), strict=True):
        torch.testing.assert_close(actual, expected)
