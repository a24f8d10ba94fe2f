"""A bank beside any feed-forward block of a T5 decoder: what it changes, and what it must not."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.nkb import Bank, BankConfig, bank_of, mount

Build = Callable[..., T5ForConditionalGeneration]
IDS = torch.tensor([[5, 9, 31, 7, 1], [8, 8, 2, 1, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
FORCED = torch.tensor([[0, 14, 3], [0, 44, 45]])


@torch.no_grad()
def logits(t5: T5ForConditionalGeneration) -> Tensor:
    out: Tensor = t5(input_ids=IDS, attention_mask=MASK, decoder_input_ids=FORCED).logits
    return out


def test_a_new_bank_changes_no_logit_by_one_bit(build: Build, kind: dict[str, Any]) -> None:
    plain = build((), **kind)
    mounted = mount(copy.deepcopy(plain), BankConfig((0, 2), 48, kind["adaptive"]))
    assert logits(mounted).equal(logits(plain))


def test_a_bank_with_values_changes_the_logits(build: Build, kind: dict[str, Any]) -> None:
    assert not torch.allclose(logits(build((1,), **kind)), logits(build((), **kind)), atol=1e-3)


def test_the_block_adds_the_bank_to_the_plain_block(build: Build, kind: dict[str, Any]) -> None:
    mounted = build((1, 2), **kind)
    plain = build((), **kind)
    plain.load_state_dict(
        {k: v for k, v in mounted.state_dict().items() if "ex_" not in k and "_ex" not in k}
    )
    for layer in (1, 2):
        add_by_hook(plain, layer, bank_of(mounted, layer))
    torch.testing.assert_close(logits(mounted), logits(plain), atol=1e-6, rtol=0)


def add_by_hook(plain: T5ForConditionalGeneration, layer: int, bank: Bank | None) -> None:
    assert bank is not None
    block = plain.decoder.block[layer].layer[-1]
    block.register_forward_hook(lambda module, args, out: out + bank(module.layer_norm(args[0])))


def test_dropout_never_touches_what_the_bank_adds(build: Build) -> None:
    block = build((2,), dropout_rate=1.0).decoder.block[2].layer[-1].train()
    h = torch.randn(2, 3, 32)
    torch.testing.assert_close(block(h), h + block.slots(block.layer_norm(h)))


def test_the_keys_are_the_authors_and_the_rest_is_a_plain_t5(build: Build) -> None:
    mounted, plain = build((0, 2), adaptive=True), build(())
    added = set(mounted.state_dict()) - set(plain.state_dict())
    names = (
        "wi_ex.weight",
        "wo_ex.weight",
        "ex_ada_in.weight",
        "ex_ada_in.bias",
        "ex_ada_out.weight",
        "ex_ada_out.bias",
    )
    assert added == {
        f"decoder.block.{layer}.layer.2.DenseReluDense.{name}" for layer in (0, 2) for name in names
    }
    plain.load_state_dict(
        {key: value for key, value in mounted.state_dict().items() if key not in added}, strict=True
    )
    assert mounted.state_dict()["decoder.block.0.layer.2.DenseReluDense.wi_ex.weight"].shape == (48, 32)
    assert mounted.state_dict()["decoder.block.0.layer.2.DenseReluDense.wo_ex.weight"].shape == (32, 48)


def test_the_configuration_names_the_bank(build: Build) -> None:
    config = build((0, 2), size=40).config
    assert (config.kb_layer, config.ex_size, config.adaptive_nkb) == ("0,2", 40, False)


def test_every_bank_parameter_is_counted_once_and_learns(build: Build) -> None:
    t5 = build((2,), init="zero_values", adaptive=True).train()
    bank = bank_of(t5, 2)
    assert bank is not None
    t5(input_ids=IDS, attention_mask=MASK, labels=FORCED).loss.backward()
    assert bank.wo_ex.weight.grad is not None
    assert bank.wo_ex.weight.grad.abs().sum() > 0
    ids = [id(parameter) for parameter in t5.parameters()]
    assert all(ids.count(id(parameter)) == 1 for parameter in bank.parameters())


def test_a_copy_has_a_bank_of_its_own(build: Build) -> None:
    t5 = build((2,))
    copied = copy.deepcopy(t5)
    before = logits(t5)
    bank = bank_of(copied, 2)
    assert bank is not None
    with torch.no_grad():
        bank.wo_ex.weight.mul_(2)
    assert logits(t5).equal(before)
    assert not logits(copied).equal(before)


def test_the_bank_stays_in_full_precision_beside_a_half_precision_backbone(build: Build) -> None:
    t5 = mount(build(()).bfloat16(), BankConfig((2,), 48, True), "authors")
    bank = bank_of(t5, 2)
    assert bank is not None
    assert {parameter.dtype for parameter in bank.parameters()} == {torch.float32}
    assert logits(t5).dtype == torch.bfloat16


def test_a_second_bank_in_a_layer_is_refused(build: Build) -> None:
    with pytest.raises(ValueError, match="decoder layer 2 already carries"):
        mount(build((2,)), BankConfig((2,), 8, False))


def test_a_layer_that_does_not_exist_is_refused_and_nothing_is_mounted(build: Build) -> None:
    t5 = build(())
    with pytest.raises(ValueError, match="layer 3 does not exist"):
        mount(t5, BankConfig((0, 3), 8, False))
    assert bank_of(t5, 0) is None
