"""The meanings of rows equal those that a slow computation gives."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import T5ForConditionalGeneration

from models.nkb.bank import bank_of
from models.nkb.decode import Decoder
from models.nkb.interpret import contributions, value_tokens
from models.nkb.overlay import Overlay

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
    run = decoder.begin(question.states, question.mask, None)
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


def test_contributions_are_those_of_the_rows_that_were_read(build: Build, questions: Any) -> None:
    t5, question = build((2,)), questions.row(0)
    decoder = Decoder(t5)
    slot = contributions(decoder, question.states, question.mask, 7, top=1, k=1)[0].slot
    row = 10 * t5.shared.weight.detach()[7][None]
    read = Overlay({2: (torch.tensor([slot]), row)})
    (changed,) = contributions(decoder, question.states, question.mask, 7, overlay=read, top=1, k=1)
    assert changed.tokens.ids.tolist() == value_tokens(row, t5.shared.weight.detach(), 1).ids[0].tolist()
    bank = bank_of(t5, 2)
    assert bank is not None
    with torch.no_grad():
        bank.wo_ex.weight[:, slot] = row[0]
    change = silenced_logit(t5, slot, question, 7) - first_logit(t5, question, 7)
    assert changed.logit_change == pytest.approx(change, abs=1e-4)


def test_without_a_bank_or_behind_a_gate_no_slot_contributes(build: Build, questions: Any) -> None:
    question = questions.row(0)
    options: dict[str, Any] = {"top": 3, "k": 2}
    assert contributions(Decoder(build(())), question.states, question.mask, 7, **options) == []
    gated = Overlay({}, torch.ones(1, 32))
    assert contributions(Decoder(build()), question.states, question.mask, 7, overlay=gated, **options) == []
