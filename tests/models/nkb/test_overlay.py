"""Rows of one batch read different versions of the memory, each exactly as if it were alone."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.kit.decoded import DecodedAnswer
from models.nkb.bank import bank_of
from models.nkb.decode import Decoder
from models.nkb.overlay import Overlay
from models.nkb.trace import trace
from tests.models.nkb.conftest import assert_same

Build = Callable[..., T5ForConditionalGeneration]
MAX_TOKENS = 12
LAST = 2


def rows(seed: int, n: int = 6, scale: float = 3.0) -> tuple[Tensor, Tensor]:
    torch.manual_seed(seed)
    return torch.randperm(48)[:n], scale * torch.randn(n, 32)


def write_columns(t5: T5ForConditionalGeneration, read: Overlay) -> T5ForConditionalGeneration:
    """Return the same model with the read's rows stored in it."""
    model = copy.deepcopy(t5)
    for layer, (slots, values) in read.values.items():
        bank = bank_of(model, layer)
        assert bank is not None
        with torch.no_grad():
            bank.wo_ex.weight[:, slots] = values.t()
    return model


def assert_all_same(actual: Sequence[DecodedAnswer], expected: Sequence[DecodedAnswer]) -> None:
    for answer, other in zip(actual, expected, strict=True):
        assert_same(answer, other)


@pytest.fixture
def overlays() -> list[Overlay | None]:
    """Return twelve reads: the base, versions that share rows by identity, lower banks, gates, and all at once."""
    shared = {LAST: rows(1), 1: rows(2)}
    gate = torch.randn(4, 32) * 5
    return [
        None,
        Overlay(),
        Overlay(shared),
        Overlay(shared),
        Overlay({LAST: rows(3)}),
        Overlay({1: rows(4, 20)}),
        Overlay({}, gate[:1]),
        Overlay({}, gate),
        Overlay(shared, gate[1:3]),
        Overlay({LAST: rows(5, 48)}),
        Overlay({LAST: rows(6, 0)}),
        Overlay({}, gate[:0]),
    ]


def test_changed_rows_read_like_a_model_that_stores_them(
    build: Build, kind: dict[str, Any], questions: Any
) -> None:
    t5 = build((1, 2), **kind)
    read = Overlay({LAST: rows(1), 1: rows(2)})
    expected = Decoder(write_columns(t5, read)).generate(
        questions.states, questions.mask, max_tokens=MAX_TOKENS
    )
    base = Decoder(t5)
    overlaid = base.generate(
        questions.states, questions.mask, max_tokens=MAX_TOKENS, overlays=[read] * len(questions)
    )
    assert_all_same(overlaid, expected)
    unread = base.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS)
    assert [a.tokens for a in unread] != [a.tokens for a in overlaid]


def test_each_row_of_a_mixed_batch_answers_as_if_alone(
    build: Build, kind: dict[str, Any], questions: Any, overlays: list[Overlay | None]
) -> None:
    decoder = Decoder(build((1, 2), **kind))
    together = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS, overlays=overlays)
    for index, (answer, read) in enumerate(zip(together, overlays, strict=True)):
        question = questions.row(index)
        (alone,) = decoder.generate(question.states, question.mask, max_tokens=MAX_TOKENS, overlays=[read])
        assert_same(answer, alone)


def test_the_order_of_the_rows_does_not_matter(
    build: Build, questions: Any, overlays: list[Overlay | None]
) -> None:
    decoder = Decoder(build((1, 2)))
    order = torch.randperm(len(overlays)).tolist()
    straight = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS, overlays=overlays)
    answers = decoder.generate(
        questions.states[order],
        questions.mask[order],
        max_tokens=MAX_TOKENS,
        overlays=[overlays[i] for i in order],
    )
    assert_all_same(answers, [straight[i] for i in order])


def test_alternatives_read_what_their_question_reads(
    build: Build, questions: Any, overlays: list[Overlay | None]
) -> None:
    decoder = Decoder(build((1, 2)))
    options: dict[str, Any] = {"max_tokens": MAX_TOKENS, "top_first": 3}
    together = decoder.generate(questions.states, questions.mask, overlays=overlays, **options)
    for index, (answer, read) in enumerate(zip(together, overlays, strict=True)):
        question = questions.row(index)
        (alone,) = decoder.generate(question.states, question.mask, overlays=[read], **options)
        assert_all_same(answer.alternatives, alone.alternatives)


def test_reads_that_change_nothing_change_no_bit(build: Build, questions: Any) -> None:
    decoder = Decoder(build((1, 2)))
    plain = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS)
    empty = [Overlay(), None] * 6
    assert decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS, overlays=empty) == plain


@pytest.mark.parametrize("layers", [(1, 2), (1,), ()])
def test_a_gate_replaces_what_the_last_bank_adds_at_its_step_only(
    build: Build, kind: dict[str, Any], questions: Any, layers: tuple[int, ...]
) -> None:
    decoder = Decoder(build(layers, **kind))
    steps = torch.randn(3, 32) * 5
    reads = [Overlay({}, steps)] * len(questions)
    answers = decoder.generate(questions.states, questions.mask, max_tokens=MAX_TOKENS, overlays=reads)
    assert {len(answer.tokens) for answer in answers} != {0}
    for index, answer in enumerate(answers):
        tokens = torch.tensor([[*answer.tokens, *([1] if answer.finished else [])]])
        question = questions.row(index)
        read = trace(decoder, question.states, question.mask, tokens)
        bank_output = read.ex[0].clone()
        bank_output[: len(steps)] = steps[: len(bank_output)]
        logprobs = decoder.head(read.s[0] + bank_output).log_softmax(-1)
        assert logprobs.argmax(-1).tolist() == tokens[0].tolist()
        assert answer.logprobs == pytest.approx(logprobs.gather(1, tokens.t())[:, 0].tolist(), abs=1e-5)


def test_gates_over_a_whole_forced_answer_equal_gates_step_by_step(build: Build, questions: Any) -> None:
    decoder = Decoder(build((1, 2)))
    reads = [Overlay({LAST: rows(1)}, torch.randn(2, 32))] * len(questions)
    targets = torch.randint(2, 120, (len(questions), 5))
    with torch.no_grad():
        whole = decoder.forward(decoder.begin(questions.states, questions.mask, reads), targets)
        run = decoder.begin(questions.states, questions.mask, reads)
        steps = [decoder.forward(run, token[:, None]) for token in targets.t()]
    torch.testing.assert_close(whole, torch.cat(steps, 1), atol=1e-5, rtol=1e-5)


def test_rows_for_a_layer_without_a_bank_are_refused(build: Build, questions: Any) -> None:
    reads = [Overlay({0: rows(1)}), *[None] * 11]
    with pytest.raises(ValueError, match="layer 0 has no bank"):
        Decoder(build((2,))).generate(questions.states, questions.mask, max_tokens=3, overlays=reads)


@pytest.mark.parametrize("slot", [-1, 48])
def test_a_slot_outside_the_bank_is_refused_with_the_range(build: Build, questions: Any, slot: int) -> None:
    reads = [Overlay({2: (torch.tensor([slot]), torch.zeros(1, 32))}), *[None] * 11]
    with pytest.raises(ValueError, match=r"0\.\.47"):
        Decoder(build((2,))).generate(questions.states, questions.mask, max_tokens=3, overlays=reads)
