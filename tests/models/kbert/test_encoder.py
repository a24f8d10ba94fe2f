"""The encoder: a plain BERT when nothing is injected, and indifferent to padding, batches and the order of facts."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertModel

from models.kbert import Batch, Encoder, EncoderConfig, Reader, Row, Triple, collate
from models.kbert.names import to_uer
from models.kbert.norm import LayerNorm

Build = Callable[..., Encoder]
Read = Callable[..., Reader]
TEXTS = ("爱吃苹果哈在北京", "好", "北京好", "爱吃", "苹果苹果")
PAD = 0
LIMIT = {"atol": 1e-5, "rtol": 0.0}


def states(encoder: Encoder, rows: list[Row], length: int | None = None) -> list[Tensor]:
    hidden = encoder.read(collate(rows, PAD, length))
    return [row_states[: len(row)] for row, row_states in zip(rows, hidden, strict=True)]


def transformers_bert(config: EncoderConfig) -> BertModel:
    torch.manual_seed(5)
    sizes = config.hf() | {"initializer_range": 0.3, "attention_probs_dropout_prob": 0.0}
    bert = BertModel(BertConfig(**{k: v for k, v in sizes.items() if k != "model_type"})).eval()
    with torch.no_grad():
        for name, parameter in bert.named_parameters():
            if "bias" in name or "LayerNorm" in name:
                parameter += 0.2 * torch.randn_like(parameter)
    return bert.requires_grad_(False)


def test_without_facts_it_is_transformers_bert(small: Callable[..., EncoderConfig], reader: Read) -> None:
    config = small(norm="bert")
    bert, encoder = transformers_bert(config), Encoder(config).eval().requires_grad_(False)
    encoder.load_state_dict(
        {k: v for k, v in to_uer(bert.state_dict()).items() if not k.startswith("pooler")}, strict=True
    )
    plain = reader().without_graph()
    rows = [plain.single("爱吃苹果哈在北京"), plain.pair("爱吃", "苹果好在北京")]
    batch = collate(rows, PAD)
    expected = bert(
        input_ids=batch.ids,
        attention_mask=batch.real.long(),
        token_type_ids=(batch.segments - 1).clamp(min=0),
    ).last_hidden_state
    for actual in (encoder.read(batch), encoder.read(batch.without_visible_matrix())):
        torch.testing.assert_close(actual[batch.real], expected[batch.real], **LIMIT)


@pytest.mark.parametrize("norm", ["uer", "bert"])
def test_batches_and_padding_change_nothing(build: Build, reader: Read, norm: str) -> None:
    encoder = build(norm=norm)
    rows = [reader().single(text) for text in TEXTS]
    alone = [states(encoder, [row])[0] for row in rows]
    for length in (None, 40):
        for one, together in zip(alone, states(encoder, rows, length), strict=True):
            torch.testing.assert_close(together, one, **LIMIT)
    backwards = states(encoder, rows[::-1])[::-1]
    for one, other in zip(alone, backwards, strict=True):
        torch.testing.assert_close(other, one, **LIMIT)


def test_the_order_of_facts_changes_no_word_and_no_fact(build: Build, reader: Read) -> None:
    encoder = build()
    first, second = Triple("苹果", "产地", "山东"), Triple("苹果", "属于", "水果")
    one = reader(first, second).single("爱苹果好")
    other = reader(second, first).single("爱苹果好")
    (left,), (right,) = states(encoder, [one]), states(encoder, [other])
    order = [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12]
    assert [one.tokens[place].text for place in order] == [token.text for token in other.tokens]
    torch.testing.assert_close(left[order], right, **LIMIT)


def test_a_fact_reaches_its_word_at_once_and_others_only_through_it(build: Build, reader: Read) -> None:
    """One layer: a changed object moves its own word, and nothing else of the sentence."""
    encoder = build(layers=1)
    rows = [reader(Triple("果", "属", object_)).single("爱果好") for object_ in ("山", "水")]
    left, right = states(encoder, rows)
    moved = [not torch.allclose(a, b, atol=1e-6) for a, b in zip(left, right, strict=True)]
    assert [token.text for token, one in zip(rows[0].tokens, moved, strict=True) if one] == ["果", "属", "山"]
    deep = build(layers=2)
    left, right = states(deep, rows)
    assert not torch.allclose(left[0], right[0], atol=1e-6), "[CLS] reads it through the word from layer 2 on"


def test_no_matrix_given_is_the_ablation_without_it(build: Build, reader: Read) -> None:
    encoder = build()
    batch = collate([reader().single(text) for text in TEXTS], PAD)
    without = encoder.read(batch.without_visible_matrix())
    assert encoder(batch.ids, batch.positions, batch.segments).equal(without)
    assert not torch.allclose(encoder.read(batch)[batch.real], without[batch.real], atol=1e-3)


def test_hard_positions_are_the_places_in_the_row(build: Build, reader: Read) -> None:
    batch = collate([reader().single("在北京好"), reader().single("好")], PAD)
    assert batch.positions[0].tolist() == [0, 1, 2, 3, 4, 5, 6, 4]
    assert batch.with_hard_positions().positions.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, *[7] * 6]]


def test_attention_stays_inside_the_visible_matrix(build: Build, reader: Read) -> None:
    batch: Batch = collate([reader().single(text) for text in TEXTS], PAD)
    for layer in range(3):
        weights = build().attention(batch, layer)
        rows = weights.transpose(1, 2)[batch.real]
        torch.testing.assert_close(rows.sum(-1), torch.ones_like(rows[..., 0]))
        assert rows.masked_select(~batch.visible[batch.real][:, None]).eq(0).all()


def test_the_two_norms_on_one_two_three_four() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    uer, bert = LayerNorm(4, "uer")(x), LayerNorm(4, "bert")(x)
    torch.testing.assert_close(uer[:2], torch.tensor([-1.1619, -0.3873]), atol=5e-5, rtol=0)
    torch.testing.assert_close(bert[:2], torch.tensor([-1.3416, -0.4472]), atol=5e-5, rtol=0)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"heads": 5}, "heads: 5 do not divide"),
        ({"norm": "layer"}, "norm"),
        ({"segments": 2}, "segments"),
        ({"layers": 0}, "layers"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_a_wrong_number_is_refused_by_name(
    small: Callable[..., EncoderConfig], wrong: dict[str, object], named: str
) -> None:
    with pytest.raises(Exception, match=named):  # the type checker of the tests may be first
        small(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"max_length": 7}, {"max_length": 513}, {"max_entities": -1}, {"truncate": "left"}]
)
def test_a_wrong_limit_is_refused_by_name(reader: Read, wrong: dict[str, object]) -> None:
    with pytest.raises(Exception, match=next(iter(wrong))):
        reader(**wrong)
