"""A document is read row by row on its own, can be trained and exported, and refuses segments of another length.

Attention masks, and that relative attention without positions, tasks and memory is a plain transformer's.
Memory keeps the last states, and is never changed in place.
The row of the position table for each query and key is the paper's.
"""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from models.ernie_doc.attention import RelativeAttention, Tables, attention_bias, shift
from models.ernie_doc.config import MASK_VALUE, ErnieDocConfig
from models.ernie_doc.memory import kept_index, start_memory
from models.ernie_doc.model import ErnieDoc
from models.ernie_doc.network import feed_order
from tests.models.ernie_doc.tiny import CONFIG, segment, tiny_model
from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.mask import Shape, compile_mask


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


def test_memory_is_visible_and_padding_is_not() -> None:
    mask = torch.tensor([[1.0, 1.0, 0.0]])
    bias = attention_bias(mask, torch.ones(1, 2), MASK_VALUE)
    assert (bias[0, 0, 0] == 0).tolist() == [True, True, True, True, False]


@given(mask=st.lists(st.booleans(), min_size=1, max_size=8).filter(any), memory=st.integers(1, 5))
def test_the_mask_is_the_rule_of_segment_memory(mask: list[bool], memory: int) -> None:
    tokens, real = len(mask), torch.tensor(mask)
    facts = Facts({"real": Relation(real.nonzero())})
    rule = f"attend(I,J) <= segment_memory({memory})"
    allowed = compile_mask(rule, Shape(queries=tokens, keys=memory + tokens), facts).allowed
    bias = attention_bias(real.float()[None], torch.ones(1, memory), MASK_VALUE)[0, 0]
    assert bias.unique().tolist() in ([0.0], [-MASK_VALUE, 0.0])
    assert allowed.equal(bias == 0)


def test_the_attention_of_a_padded_query_is_uniform() -> None:
    mask = torch.tensor([[1.0, 0.0]])
    scores = torch.tensor([3.0, -2.0, 1.0, 0.5]) + attention_bias(mask, torch.ones(1, 2), MASK_VALUE)
    assert torch.softmax(scores, -1)[0, 0, 1].tolist() == [0.25] * 4


def test_without_positions_tasks_and_memory_it_is_plain_attention() -> None:
    model = tiny_model()
    attention = model.encoder.layers[0].attn
    assert isinstance(attention, RelativeAttention)
    for bias in (attention.r_w_bias, attention.r_r_bias, attention.r_t_bias):
        bias.zero_()
    tables = Tables(
        torch.zeros(CONFIG.heads, CONFIG.position_rows, CONFIG.width // CONFIG.heads),
        torch.zeros(CONFIG.heads, CONFIG.task_types, CONFIG.width // CONFIG.heads),
    )
    x = torch.randn(2, CONFIG.segment, CONFIG.width)
    visible = attention_bias(torch.ones(2, CONFIG.segment), torch.zeros(2, CONFIG.memory), CONFIG.mask_value)
    tasks = torch.zeros(2, CONFIG.memory + CONFIG.segment, dtype=torch.long)
    actual = attention(x, torch.randn(2, CONFIG.memory, CONFIG.width), tasks, visible, tables)

    def split(states: torch.Tensor) -> torch.Tensor:
        return states.view(2, CONFIG.segment, CONFIG.heads, -1).transpose(1, 2)

    plain = F.scaled_dot_product_attention(
        split(attention.q_proj(x)), split(attention.k_proj(x)), split(attention.v_proj(x))
    )
    torch.testing.assert_close(actual, attention.out_proj(plain.transpose(1, 2).flatten(2)))


def test_an_empty_memory_is_seen_unless_it_is_masked() -> None:
    showing, hiding = tiny_model(), tiny_model(mask_empty_memory=True)
    hiding.load_state_dict(showing.state_dict())
    words = segment(1)
    empty = start_memory(CONFIG, 1)
    first, first_hiding = showing(*words, empty), hiding(*words, empty)
    assert not torch.allclose(first.states, first_hiding.states, atol=1e-3)
    full = first.memory
    assert showing(*words, full).states.equal(hiding(*words, full).states)


def test_scores_and_softmax_are_float32_for_weights_in_bfloat16() -> None:
    model = tiny_model()
    words = segment(1, real=5)
    expected = model(*words, start_memory(CONFIG, 1))
    reading = model.to(torch.bfloat16)(*words, start_memory(CONFIG, 1))
    assert reading.states.dtype == torch.bfloat16
    assert reading.memory.dtype == torch.float32
    torch.testing.assert_close(reading.memory, expected.memory, atol=0.2, rtol=0)


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


CPU = torch.device("cpu")


def row_index(segment: int, memory: int) -> Tensor:
    """Return row(i, j) for each query and key."""
    distance = memory + torch.arange(segment)[:, None] - torch.arange(memory + segment)
    return torch.where(distance > 0, segment - 1 + distance, -distance)


def test_the_example_of_four_tokens_and_two_slots() -> None:
    assert row_index(4, 2).tolist() == [
        [5, 4, 0, 1, 2, 3],
        [6, 5, 4, 0, 1, 2],
        [7, 6, 5, 4, 0, 1],
        [8, 7, 6, 5, 4, 0],
    ]


def test_the_last_row_of_the_authors_table_is_never_used() -> None:
    rows = row_index(512, 128)
    assert set(rows.unique().tolist()) == set(range(1151))


@pytest.mark.parametrize(("segment", "memory"), [(4, 2), (1, 1), (5, 7), (16, 6)])
def test_shifting_scores_in_feed_order_picks_the_row_of_each_key(segment: int, memory: int) -> None:
    rows = feed_order(segment, memory, CPU).float().expand(2, 3, segment, -1)
    by_key = shift(rows)
    assert by_key.equal(row_index(segment, memory).float().expand_as(by_key))
