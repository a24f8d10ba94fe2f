"""Attention masks, and that relative attention without positions, tasks and memory is a plain transformer's."""

import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from models.attention.mask import compile_mask
from models.attention.pairs import Shape
from models.attention.rules.facts import Facts, Relation
from models.ernie_doc.attention import RelativeAttention, Tables, attention_bias
from models.ernie_doc.config import MASK_VALUE
from tests.models.ernie_doc.tiny import CONFIG, tiny_model


@given(mask=st.lists(st.booleans(), min_size=1, max_size=8).filter(any), memory=st.integers(1, 5))
def test_the_mask_is_the_rule_of_segment_memory(mask: list[bool], memory: int) -> None:
    tokens, real = len(mask), torch.tensor(mask)
    facts = Facts({"real": Relation(real.nonzero())})
    rule = f"attend(I,J) <= segment_memory({memory})"
    allowed = compile_mask(rule, Shape(queries=tokens, keys=memory + tokens), facts).allowed
    bias = attention_bias(real.float()[None], torch.ones(1, memory), MASK_VALUE)[0, 0]
    assert bias.unique().tolist() in ([0.0], [-MASK_VALUE, 0.0])
    assert allowed.equal(bias == 0)


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
