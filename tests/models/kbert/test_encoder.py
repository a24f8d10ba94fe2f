"""The encoder: a plain BERT when nothing is injected, and indifferent to padding, batches and the order of facts.

The explanation holds the whole tree, what was left out, and what each fact does to the answer; and it is JSON.
"""

import json
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from models.encoder.bert import LayerNorm
from models.kbert.encoder import Encoder
from models.kbert.explain import MAX_ENTRIES
from models.kbert.row import Row, collate
from models.kbert.system import KbertSystem
from models.system import Ask
from tests.models.kbert.ablations import without_visible_matrix
from tests.models.kbert.conftest import HEADS, small_bert
from tests.models.kbert.test_bars import KIM, entity_with, linked_ask

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
    for actual in (encoder.read(batch), encoder.read(without_visible_matrix(batch))):
        torch.testing.assert_close(actual[batch.is_real], expected[batch.is_real], **LIMIT)


def test_batches_and_padding_change_nothing(build: Build, read: Read) -> None:
    encoder = build()
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
    without = build().read(without_visible_matrix(batch))
    assert not torch.allclose(build().read(batch)[batch.is_real], without[batch.is_real], atol=1e-3)


def test_the_norm_of_one_two_three_four() -> None:
    actual = LayerNorm(torch.ones(4), torch.zeros(4))(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    torch.testing.assert_close(actual[0, :2], torch.tensor([-1.3416, -0.4472]), atol=5e-5, rtol=0)


def test_bfloat16_keeps_the_norms_and_the_states_in_float32(read: Read) -> None:
    encoder = Encoder.from_weights(small_bert().state_dict(), torch.bfloat16, HEADS)
    layers = encoder.bert.layers
    norms = [encoder.bert.norm, *(norm for layer in layers for norm in (layer.out_norm, layer.down_norm))]
    assert {tensor.dtype for norm in norms for tensor in (norm.gamma, norm.beta)} == {torch.float32}
    assert {layer.qkv.weight.dtype for layer in layers} == {torch.bfloat16}
    hidden = encoder.read(collate([read(*words) for words in TEXTS], PADDING))
    assert hidden.dtype == torch.float32
    assert hidden.isfinite().all()


def explanation_of(system: KbertSystem, ask: Ask) -> dict[str, Any]:
    (reply,) = system.answer([ask], [{}])
    explanation: dict[str, Any] = json.loads(json.dumps(reply.explanation))
    return explanation


def test_the_tree_is_listed_token_by_token_and_fact_by_fact(default: KbertSystem) -> None:
    explanation = explanation_of(default, linked_ask("Where was Kim Lee born?", "Kim Lee", KIM, explain=True))
    assert explanation["tokens"][0] == {"text": "[CLS]", "position": 0, "word": 0, "branch": 0}
    (mention,) = explanation["tree"]
    assert (mention["text"], mention["start"], mention["end"], mention["entity"]) == (
        "Kim Lee",
        10,
        17,
        "p:kim",
    )
    first = mention["facts"][0]
    assert (first["text"], first["relation"], first["object"]) == (
        "place of birth Oslo",
        "place_of_birth",
        "Oslo",
    )
    assert first["positions"] == [5, 8]
    assert 0.5 < first["score"] <= 1
    assert first["rank"] == max(fact["rank"] for fact in mention["facts"])
    assert [fact["object"] for fact in explanation["rests_on"]] == ["Oslo"]


def test_each_fact_is_left_out_in_turn(default: KbertSystem) -> None:
    explanation = explanation_of(default, linked_ask("Where was Kim Lee born?", "Kim Lee", KIM, explain=True))
    without = {entry["object"]: entry["answer"] for entry in explanation["without"]}
    assert without == {"Oslo": None, "painter": "Oslo", "Ada Berg": "Oslo"}


def test_of_many_values_the_others_stay_without_one(default: KbertSystem) -> None:
    kim = entity_with(("child", "child", "Ben"), ("child", "child", "Zoe"))
    explanation = explanation_of(
        default, linked_ask("Who is a child of Kim Lee?", "Kim Lee", kim, explain=True)
    )
    assert [entry["answer"] for entry in explanation["without"]] == ["Zoe"]
    assert explanation["left_out"] == [
        {"entity": "e:1", "relation": "child", "object": "Zoe", "reason": "value"}
    ]


def test_what_a_name_could_mean_too_is_listed(default: KbertSystem) -> None:
    other = entity_with(("area", "area", "3 km²"), id="e:2")
    explanation = explanation_of(
        default, linked_ask("Where was Kim Lee born?", "Kim Lee", KIM, other, explain=True)
    )
    (ambiguous,) = explanation["ambiguous"]
    assert (ambiguous["text"], ambiguous["chosen"]) == ("Kim Lee", "p:kim")
    assert [(entry["id"], entry["degree"]) for entry in ambiguous["others"]] == [("e:2", 1)]


def test_it_is_bounded(default: KbertSystem) -> None:
    wide = entity_with(*((f"r{n}", f"relation {n}", f"object {n}") for n in range(300)))
    explanation = explanation_of(
        default, linked_ask("Where was Kim Lee born?", "Kim Lee", wide, explain=True)
    )
    (mention,) = explanation["tree"]
    assert len(mention["facts"]) == default.model.settings.max_entities == len(explanation["without"])
    assert len(explanation["left_out"]) == MAX_ENTRIES
    assert explanation["left_out"][0]["reason"] == "rank"


def test_without_anything_to_explain_the_words_are_listed(default: KbertSystem) -> None:
    explanation = explanation_of(default, Ask("Who?", explain=True))
    assert [token["text"] for token in explanation["tokens"]] == ["[CLS]", "who", "?"]
    assert (explanation["tree"], explanation["without"], explanation["rests_on"]) == ([], [], [])
