"""Attention masks, and that relative attention without positions, tasks and memory is a plain transformer's."""

import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from models.ernie_doc.config import MASK_VALUE
from models.ernie_doc.memory import start_memory
from models.ernie_doc.network import RelativeAttention, Tables, attention_bias
from tests.models.ernie_doc.tiny import CONFIG, segment, tiny_model
from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.mask import compile_mask
from tests.parity.attention.pairs import Shape


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
