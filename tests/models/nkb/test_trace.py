"""The trace is the model's computation: its parts add up to the logits of transformers.

The meanings of rows equal those that a slow computation gives.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from models.nkb.bank import Bank, bank_of
from models.nkb.decode import Decoder
from models.nkb.interpret import contributions, value_tokens
from models.nkb.overlay import Overlay
from models.nkb.trace import trace

Build = Callable[..., T5ForConditionalGeneration]
CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-4}


@pytest.fixture
def targets() -> Tensor:
    torch.manual_seed(5)
    return torch.randint(2, 120, (12, 6))


def last_bank(t5: T5ForConditionalGeneration) -> Bank:
    bank = bank_of(t5, len(t5.decoder.block) - 1)
    assert bank is not None
    return bank


def test_state_and_bank_add_up_to_the_logits(
    build: Build, kind: dict[str, Any], questions: Any, targets: Tensor, forced_logits: Any
) -> None:
    t5 = build((1, 2), **kind)
    decoder = Decoder(t5)
    read = trace(decoder, questions.states, questions.mask, targets)
    torch.testing.assert_close(decoder.head(read.s + read.ex), forced_logits(t5, questions, targets), **CLOSE)


@torch.no_grad()
def test_the_bank_read_at_n_gives_a_and_ex(
    build: Build, kind: dict[str, Any], questions: Any, targets: Tensor
) -> None:
    t5 = build((2,), **kind)
    read = trace(Decoder(t5), questions.states, questions.mask, targets)
    torch.testing.assert_close(last_bank(t5).slot_weights(read.n), read.a, **CLOSE)
    torch.testing.assert_close(last_bank(t5)(read.n), read.ex, **CLOSE)


def test_n_is_what_the_last_norm_gives(build: Build, questions: Any, targets: Tensor) -> None:
    t5 = build((2,))
    norms: list[Tensor] = []
    norm = t5.decoder.block[-1].layer[-1].layer_norm
    with torch.no_grad():
        norm.weight.mul_(torch.rand(32) + 0.5)
    hook = norm.register_forward_hook(lambda _, __, out: norms.append(out))
    inputs = torch.cat([torch.zeros_like(targets[:, :1]), targets[:, :-1]], 1)
    with torch.no_grad():
        states = BaseModelOutput(last_hidden_state=questions.states)
        t5(encoder_outputs=states, attention_mask=questions.mask, decoder_input_ids=inputs)
    hook.remove()
    torch.testing.assert_close(
        trace(Decoder(t5), questions.states, questions.mask, targets).n, norms[0], **CLOSE
    )


def test_values_of_the_last_bank_move_ex_and_nothing_else(
    build: Build, questions: Any, targets: Tensor
) -> None:
    t5 = build((1, 2))
    before = trace(Decoder(t5), questions.states, questions.mask, targets)
    with torch.no_grad():
        last_bank(t5).wo_ex.weight.mul_(-3)
    after = trace(Decoder(t5), questions.states, questions.mask, targets)
    torch.testing.assert_close(after.ex, -3 * before.ex)
    assert (after.n.equal(before.n), after.a.equal(before.a), after.s.equal(before.s)) == (True, True, True)


def test_without_a_bank_there_are_no_slots(build: Build, questions: Any, targets: Tensor) -> None:
    read = trace(Decoder(build((1,))), questions.states, questions.mask, targets)
    assert read.a.shape == (12, 6, 0)
    assert read.ex.eq(0).all()


def test_the_bank_can_be_trained_on_a_trace(build: Build, questions: Any, targets: Tensor) -> None:
    t5 = build((2,), fills=False)
    with torch.no_grad():
        t5.shared.weight.mul_(50)  # back to T5's own scale, in which logits can be large
    decoder, bank = Decoder(t5), last_bank(t5)
    read = trace(decoder, questions.states, questions.mask, targets)
    optimizer = torch.optim.Adam(bank.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        logits = decoder.head(read.s + bank(read.n))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]


def test_a_value_raises_the_tokens_whose_embedding_it_points_at() -> None:
    embedding = torch.eye(4) * torch.tensor([1.0, 2.0, 3.0, 4.0])[:, None]
    _, ids = value_tokens(torch.tensor([[0.0, 1.0, 1.0, 0.0]]), embedding, 2)
    assert ids.tolist() == [[2, 1]]


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
    assert [*changed.tokens] == value_tokens(row, t5.shared.weight.detach(), 1)[1][0].tolist()
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
