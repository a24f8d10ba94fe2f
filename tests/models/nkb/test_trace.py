"""The trace is the model's computation: its parts add up to the logits of transformers."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from models.nkb.bank import Bank, bank_of
from models.nkb.decode import Decoder
from models.nkb.interpret import trace

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
    t5 = build((2,), init="zero_values")
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
