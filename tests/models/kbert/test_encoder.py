"""The encoder: a plain BERT when nothing is injected, and indifferent to padding, batches and the order of facts."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from models.encoder.bert import LayerNorm
from models.kbert.heads import Encoder
from models.kbert.row import Row, collate
from tests.models.kbert.conftest import HEADS, small_bert

Build = Callable[..., Encoder]
Read = Callable[..., Row]
TEXTS = (("爱", "吃", "苹果", "哈", "在", "北京"), ("好",), ("北京", "好"), ("爱", "吃"), ("苹果", "苹果"))
PADDING = 0
LIMIT = {"atol": 1e-5, "rtol": 0.0}


def states(encoder: Encoder, rows: list[Row], length: int | None = None) -> list[Tensor]:
    hidden = encoder.read(collate(rows, PADDING, length))
    return [row_states[: len(row)] for row, row_states in zip(rows, hidden, strict=True)]


def test_without_facts_it_is_a_plain_bert(read: Read) -> None:
    bert = small_bert()
    encoder = Encoder.from_weights(bert.state_dict(), heads=HEADS)
    batch = collate([read(*words, graph={}) for words in TEXTS], PADDING)
    expected = bert(input_ids=batch.ids, attention_mask=batch.is_real.long()).last_hidden_state
    for actual in (encoder.read(batch), encoder.read(batch.without_visible_matrix())):
        torch.testing.assert_close(actual[batch.is_real], expected[batch.is_real], **LIMIT)


@pytest.mark.parametrize("norm", ["uer", "bert"])
def test_batches_and_padding_change_nothing(build: Build, read: Read, norm: str) -> None:
    encoder = build(norm=norm)
    rows = [read(*words) for words in TEXTS]
    alone = [states(encoder, [row])[0] for row in rows]
    for length in (None, 40):
        for expected, actual in zip(alone, states(encoder, rows, length), strict=True):
            torch.testing.assert_close(actual, expected, **LIMIT)
    for expected, actual in zip(alone, states(encoder, rows[::-1])[::-1], strict=True):
        torch.testing.assert_close(actual, expected, **LIMIT)


def test_the_order_of_facts_changes_no_word_and_no_fact(build: Build, read: Read) -> None:
    first, second = (
        read("爱", "苹果", "好", graph={"苹果": facts})
        for facts in (["产地山东", "属于水果"], ["属于水果", "产地山东"])
    )
    (first_states,), (second_states,) = states(build(), [first]), states(build(), [second])
    order = [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12]
    assert [first.tokens[place].text for place in order] == [token.text for token in second.tokens]
    torch.testing.assert_close(first_states[order], second_states, **LIMIT)


def test_a_fact_reaches_its_word_at_once_and_others_only_through_it(build: Build, read: Read) -> None:
    """One layer: a changed object moves its own word, and nothing else of the sentence."""
    rows = [read("爱", "果", "好", graph={"果": [f"属{object_}"]}) for object_ in ("山", "水")]
    before, after = states(build(layers=1), rows)
    differs = [not torch.allclose(a, b, atol=1e-6) for a, b in zip(before, after, strict=True)]
    tokens = rows[0].tokens
    assert [token.text for token, d in zip(tokens, differs, strict=True) if d] == ["果", "属", "山"]
    before, after = states(build(layers=2), rows)
    assert not torch.allclose(before[0], after[0], atol=1e-6), (
        "[CLS] reads it through the word from layer 2 on"
    )


def test_the_visible_matrix_matters(build: Build, read: Read) -> None:
    batch = collate([read(*words) for words in TEXTS], PADDING)
    without = build().read(batch.without_visible_matrix())
    assert not torch.allclose(build().read(batch)[batch.is_real], without[batch.is_real], atol=1e-3)


@pytest.mark.parametrize(("norm", "expected"), [("uer", [-1.1619, -0.3873]), ("bert", [-1.3416, -0.4472])])
def test_the_two_norms_on_one_two_three_four(norm: str, expected: list[float]) -> None:
    normalize = LayerNorm(torch.ones(4), torch.zeros(4), norm)  # type: ignore[arg-type]
    actual = normalize(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    torch.testing.assert_close(actual[0, :2], torch.tensor(expected), atol=5e-5, rtol=0)


def test_bfloat16_keeps_the_norms_and_the_states_in_float32(read: Read) -> None:
    encoder = Encoder.from_weights(small_bert().state_dict(), torch.bfloat16, HEADS)
    layers = encoder.bert.layers
    norms = [encoder.bert.norm, *(norm for layer in layers for norm in (layer.out_norm, layer.down_norm))]
    assert {tensor.dtype for norm in norms for tensor in (norm.gamma, norm.beta)} == {torch.float32}
    assert {layer.qkv.weight.dtype for layer in layers} == {torch.bfloat16}
    hidden = encoder.read(collate([read(*words) for words in TEXTS], PADDING))
    assert hidden.dtype == torch.float32
    assert hidden.isfinite().all()
