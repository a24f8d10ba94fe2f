"""The fast decoder gives the answers of transformers, whatever else is in the batch."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.nkb.answers import DecodedAnswer
from models.nkb.decode import Decoder
from models.nkb.fused import buckets

Build = Callable[..., T5ForConditionalGeneration]
Answers = Callable[..., list[list[int]]]
MAX_TOKENS = 15


def assert_same(actual: DecodedAnswer, expected: DecodedAnswer) -> None:
    assert actual.tokens == expected.tokens
    assert actual.finished == expected.finished
    assert actual.logprobs == pytest.approx(expected.logprobs, abs=1e-5)


def test_answers_equal_those_of_transformers(
    build: Build, kind: dict[str, Any], questions: Any, generate: Any, answers: Answers
) -> None:
    t5 = build((1, 2), **kind)
    expected = generate(t5, questions, MAX_TOKENS)
    assert len({len(row) for row in expected}) > 1, "some answers must end early for this to test anything"
    assert answers(Decoder(t5), questions, MAX_TOKENS) == expected


@pytest.mark.parametrize(
    ("layers", "options"),
    [((), {}), ((3,), {"num_layers": 1, "num_decoder_layers": 4})],
    ids=["a plain T5", "a decoder deeper than its encoder"],
)
def test_without_a_bank_and_with_other_depths_it_is_a_t5(
    build: Build, questions: Any, generate: Any, answers: Answers, layers: Any, options: dict[str, int]
) -> None:
    t5 = build(layers, **options)
    assert answers(Decoder(t5), questions, MAX_TOKENS) == generate(t5, questions, MAX_TOKENS)


def test_an_answer_does_not_depend_on_its_batch_or_padding(
    build: Build, kind: dict[str, Any], questions: Any
) -> None:
    decoder = Decoder(build((2,), **kind))
    together = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS)
    for index, answer in enumerate(together):
        alone = questions.row(index)
        assert_same(decoder.generate(alone.states, alone.mask, max_tokens=MAX_TOKENS)[0], answer)


def test_log_probabilities_are_those_of_the_whole_answer(
    build: Build, questions: Any, forced_logits: Any
) -> None:
    t5 = build()
    for index, answer in enumerate(
        Decoder(t5).generate(questions.states, questions.mask, max_tokens=MAX_TOKENS)
    ):
        targets = torch.tensor([[*answer.tokens, *([1] if answer.finished else [])]])
        logprobs: Tensor = forced_logits(t5, questions.row(index), targets).log_softmax(-1)
        expected = logprobs[0].gather(1, targets.t())[:, 0].tolist()
        assert answer.logprobs == pytest.approx(expected, abs=1e-5)


def test_each_question_has_as_many_alternatives_as_it_asks_for(build: Build, questions: Any) -> None:
    decoder = Decoder(build())
    counts = [1, 3, 1, 5, 2, 1, 1, 1, 4, 1, 1, 2]
    answers = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS, top_first=counts)
    assert [1 + len(answer.alternatives) for answer in answers] == counts
    full_answers = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS, top_first=5)
    for answer, full in zip(answers, full_answers, strict=True):
        assert_same(answer, full)
        for alternative, expected in zip(answer.alternatives, full.alternatives, strict=False):
            assert_same(alternative, expected)


@pytest.mark.parametrize(("n_buckets", "farthest"), [(32, 128), (16, 40)])
def test_distances_fall_into_t5s_buckets(build: Build, n_buckets: int, farthest: int) -> None:
    attention = (
        build((), relative_attention_num_buckets=n_buckets, relative_attention_max_distance=farthest)
        .decoder.block[0]
        .layer[0]
        .SelfAttention
    )
    distance = torch.arange(200)
    expected = attention._relative_position_bucket(-distance, False, n_buckets, farthest)
    assert buckets(distance, n_buckets, farthest).equal(expected)
