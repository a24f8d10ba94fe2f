"""The meanings of rows equal those that a slow computation gives."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import T5ForConditionalGeneration

from models.nkb.bank import bank_of
from models.nkb.decode import Decoder
from models.nkb.interpret import contributions, value_tokens

Build = Callable[..., T5ForConditionalGeneration]


def test_a_value_raises_the_tokens_whose_embedding_it_points_at() -> None:
    embedding = torch.eye(4) * torch.tensor([1.0, 2.0, 3.0, 4.0])[:, None]
    top = value_tokens(torch.tensor([[0.0, 1.0, 1.0, 0.0]]), embedding, 2)
    assert top.ids.tolist() == [[2, 1]]
    expected = torch.softmax(torch.tensor([0.0, 2.0, 3.0, 0.0]), 0)[[2, 1]]
    torch.testing.assert_close(top.probabilities[0], expected)


def silenced_logit(t5: T5ForConditionalGeneration, slot: int, question: Any, token: int) -> float:
    bank = bank_of(t5, 2)
    assert bank is not None
    with torch.no_grad():
        before = bank.wo_ex.weight[:, slot].clone()
        bank.wo_ex.weight[:, slot] = 0
    logit = first_logit(t5, question, token)
    with torch.no_grad():
        bank.wo_ex.weight[:, slot] = before
    return logit


@torch.no_grad()
def first_logit(t5: T5ForConditionalGeneration, question: Any, token: int) -> float:
    decoder = Decoder(t5)
    run = decoder.begin(question.states, question.mask, None, 1)
    return float(decoder.head(decoder.forward(run, torch.zeros(1, 1, dtype=torch.long)))[0, 0, token])


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_contribution_is_what_is_lost_without_the_slot(
    build: Build, questions: Any, adaptive: bool
) -> None:
    t5, question = build((1, 2), adaptive=adaptive), questions.row(0)
    decoder = Decoder(t5)
    (answer,) = decoder.generate(question.states, question.mask, max_tokens=3)
    slots = contributions(decoder, question.states, question.mask, answer.tokens[0], top=5, k=4)
    assert len(slots) == 5
    assert [slot.weight for slot in slots] == sorted((slot.weight for slot in slots), reverse=True)
    with_all = first_logit(t5, question, answer.tokens[0])
    for slot in slots:
        change = silenced_logit(t5, slot.slot, question, answer.tokens[0]) - with_all
        assert slot.logit_change == pytest.approx(change, abs=1e-4)
