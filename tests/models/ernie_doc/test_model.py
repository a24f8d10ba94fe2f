"""A document is read row by row on its own, can be trained and exported, and refuses segments of another length."""

import pytest
import torch

from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.memory import start_memory
from models.ernie_doc.model import ErnieDoc
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


def test_tables_computed_once_give_the_same_bits() -> None:
    model = tiny_model()
    words, memory = segment(2), start_memory(CONFIG, 2)
    assert model(*words, memory).states.equal(model(*words, memory, model.tables()).states)


def test_memory_slots_take_the_task_of_each_row_or_of_the_first() -> None:
    by_row, by_batch = tiny_model(), tiny_model(shares_memory_task=True)
    by_batch.load_state_dict(by_row.state_dict())
    ids, tasks, mask = segment(2)
    tasks = tasks + torch.tensor([[0], [2]])
    memory = start_memory(CONFIG, 2)
    actual, expected = by_row(ids, tasks, mask, memory).states, by_batch(ids, tasks, mask, memory).states
    assert actual[0].equal(expected[0])
    assert not torch.allclose(actual[1], expected[1], atol=1e-3)


def test_a_shorter_segment_is_refused() -> None:
    model = tiny_model()
    ids, tasks, mask = (part[:, :6] for part in segment(1))
    with pytest.raises(ValueError, match="a segment of 6 tokens: this model reads 8"):
        model(ids, tasks, mask, start_memory(CONFIG, 1))


def test_layers_that_share_their_biases_have_one_of_each() -> None:
    alone, shared = ErnieDoc(CONFIG), tiny_model(shares_biases=True)
    n_biases = 3 * CONFIG.width * (CONFIG.layers - 1)
    count = sum(p.numel() for p in alone.parameters()) - sum(p.numel() for p in shared.parameters())
    assert count == n_biases
    first, second = (layer.attn.r_r_bias for layer in shared.encoder.layers)
    assert first is second
    first += 1.0
    assert torch.isfinite(shared(*segment(1), start_memory(CONFIG, 1)).states).all()


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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"heads": 3}, "3 heads do not divide a width of 16"),
        ({"memory": 0}, "memory: at least 1"),
        ({"hidden_dropout": 1.0}, "hidden_dropout: from 0 to below 1"),
        ({"position_rows": 19}, r"position_rows: at least 2 \* 8 \+ 4, not 19"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ErnieDocConfig(**{**vars(CONFIG), **change})  # type: ignore[arg-type]
