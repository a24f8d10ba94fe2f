"""The bank's arithmetic on numbers that fit on a hand, its configuration, and what it changes beside a T5's block.

The paper's surgery: which slot, how far, and when it is refused.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import T5ForConditionalGeneration

from models.memory import EditRefused
from models.nkb.bank import Bank, BankConfig, bank_of, mount
from models.nkb.surgery import EditTarget, Head, Surgery, choose_slot, operate, smallest_lambda
from tests.hypotheses import examples

Build = Callable[..., T5ForConditionalGeneration]
IDS = torch.tensor([[5, 9, 31, 7, 1], [8, 8, 2, 1, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
TARGETS = torch.tensor([[0, 14, 3], [0, 44, 45]])

N = torch.tensor([1.0, 2.0])


@pytest.fixture
def worked_example() -> Bank:
    """Return the worked example: d = 2 and three slots; slot 2 never fires on N."""
    bank = Bank(2, 3, adaptive=False)
    with torch.no_grad():
        bank.wi_ex.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [-1, 0]]))
        bank.wo_ex.weight.copy_(torch.tensor([[0.5, 0], [0, 0.1], [9, 9]]).t())
    return bank


def test_slots_fire_where_their_key_points_the_same_way_and_add_their_values(worked_example: Bank) -> None:
    assert worked_example.slot_weights(N).tolist() == [1, 2, 0]
    torch.testing.assert_close(worked_example(N), torch.tensor([0.5, 0.2]))
    with torch.no_grad():
        worked_example.wo_ex.weight[:, 1] += 0.07 * torch.tensor([-1.0, 1.0])
    torch.testing.assert_close(worked_example.values[1], torch.tensor([-0.07, 0.17]))
    torch.testing.assert_close(worked_example(N), torch.tensor([0.36, 0.34]))


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_new_bank_adds_exactly_nothing(adaptive: bool) -> None:
    bank = Bank(8, 16, adaptive)
    assert bank(torch.randn(5, 8)).eq(0).all()
    fires = bank.slot_weights(torch.randn(500, 8)).gt(0).any(0)
    assert fires.all(), "its keys do fire, so it can learn"


def test_the_adapter_stands_before_and_after_the_slots() -> None:
    bank = Bank(4, 6, adaptive=True)
    bank.wo_ex.reset_parameters()
    assert bank.ex_ada_in is not None
    assert bank.ex_ada_out is not None
    n = torch.randn(3, 4)
    weights: Tensor = torch.relu(bank.ex_ada_in(n) @ bank.wi_ex.weight.t())
    torch.testing.assert_close(bank.slot_weights(n), weights)
    torch.testing.assert_close(bank(n), bank.ex_ada_out(weights @ bank.values))


@pytest.mark.parametrize(
    ("keys", "config"),
    [
        ({"kb_layer": "10,11", "ex_size": 3072, "adaptive_nkb": True}, BankConfig((10, 11), 3072, True)),
        ({"kb_layer": "2", "ex_size": 8}, BankConfig((2,), 8, False)),
        ({}, None),
        ({"kb_layer": ""}, None),
        ({"kb_layer": " ", "ex_size": 3072}, None),
    ],
)
def test_the_authors_keys_are_read_and_written_back(keys: dict[str, Any], config: BankConfig | None) -> None:
    """Without layers it is a plain T5, and without a word of it there is no adapter."""
    if config is None:
        assert BankConfig.parse(keys).layers == ()
        return
    assert BankConfig.parse(keys) == config
    assert config.format() == {"adaptive_nkb": False, **keys}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"kb_layer": "2,x", "ex_size": 8}, "kb_layer"),
        ({"kb_layer": [2], "ex_size": 8}, "kb_layer"),
        ({"kb_layer": "-1", "ex_size": 8}, "kb_layer"),
        ({"kb_layer": "2,2", "ex_size": 8}, "kb_layer"),
        ({"kb_layer": "2"}, "ex_size"),
        ({"kb_layer": "2", "ex_size": 0}, "ex_size"),
        ({"kb_layer": "2", "ex_size": "8"}, "ex_size"),
        ({"kb_layer": "2", "ex_size": 8.5}, "ex_size"),
        ({"kb_layer": "2", "ex_size": True}, "ex_size"),
        ({"kb_layer": "2", "ex_size": 8, "adaptive_nkb": "no"}, "adaptive_nkb"),
    ],
)
def test_a_wrong_value_is_refused_by_name(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BankConfig.parse(keys)


@pytest.mark.parametrize(
    ("mounted_layers", "layers", "message"),
    [
        ((2,), (2,), "decoder layer 2 already carries"),
        ((), (0, 3), "layer 3 does not exist, the decoder has 0 to 2"),
    ],
)
def test_a_bank_that_finds_no_place_is_refused_and_nothing_is_mounted(
    build: Build, mounted_layers: tuple[int, ...], layers: tuple[int, ...], message: str
) -> None:
    t5 = build(mounted_layers)
    with pytest.raises(ValueError, match=message):
        mount(t5, BankConfig(layers, 8, False))
    assert bank_of(t5, 0) is None


@torch.no_grad()
def logits(t5: T5ForConditionalGeneration) -> Tensor:
    out: Tensor = t5(input_ids=IDS, attention_mask=MASK, decoder_input_ids=TARGETS).logits
    return out


def test_a_new_bank_changes_no_logit_by_one_bit(build: Build, kind: dict[str, Any]) -> None:
    plain = build((), **kind)
    model = mount(copy.deepcopy(plain), BankConfig((0, 2), 48, kind["adaptive"]))
    assert logits(model).equal(logits(plain))


def test_a_bank_with_values_changes_the_logits(build: Build, kind: dict[str, Any]) -> None:
    assert not torch.allclose(logits(build((1,), **kind)), logits(build((), **kind)), atol=1e-3)


def test_the_block_adds_the_bank_to_the_plain_block(build: Build, kind: dict[str, Any]) -> None:
    model = build((1, 2), **kind)
    plain = build((), **kind)
    plain.load_state_dict({k: v for k, v in model.state_dict().items() if "ex_" not in k and "_ex" not in k})
    for layer in (1, 2):
        add_by_hook(plain, layer, bank_of(model, layer))
    torch.testing.assert_close(logits(model), logits(plain), atol=1e-6, rtol=0)


def add_by_hook(plain: T5ForConditionalGeneration, layer: int, bank: Bank | None) -> None:
    assert bank is not None
    block = plain.decoder.block[layer].layer[-1]
    block.register_forward_hook(lambda module, args, out: out + bank(module.layer_norm(args[0])))


def test_dropout_never_touches_what_the_bank_adds(build: Build) -> None:
    block = build((2,), dropout_rate=1.0).decoder.block[2].layer[-1].train()
    h = torch.randn(2, 3, 32)
    torch.testing.assert_close(block(h), h + block.slots(block.layer_norm(h)))


def test_the_keys_are_the_authors_and_the_rest_is_a_plain_t5(build: Build) -> None:
    model, plain = build((0, 2), adaptive=True), build(())
    bank_names = set(model.state_dict()) - set(plain.state_dict())
    names = (
        "wi_ex.weight",
        "wo_ex.weight",
        "ex_ada_in.weight",
        "ex_ada_in.bias",
        "ex_ada_out.weight",
        "ex_ada_out.bias",
    )
    assert bank_names == {
        f"decoder.block.{layer}.layer.2.DenseReluDense.{name}" for layer in (0, 2) for name in names
    }
    plain.load_state_dict(
        {key: value for key, value in model.state_dict().items() if key not in bank_names}, strict=True
    )
    assert model.state_dict()["decoder.block.0.layer.2.DenseReluDense.wi_ex.weight"].shape == (48, 32)
    assert model.state_dict()["decoder.block.0.layer.2.DenseReluDense.wo_ex.weight"].shape == (32, 48)


def test_the_configuration_names_the_bank(build: Build) -> None:
    config = build((0, 2), size=40).config
    assert (config.kb_layer, config.ex_size, config.adaptive_nkb) == ("0,2", 40, False)


def test_every_bank_parameter_is_counted_once_and_learns(build: Build) -> None:
    t5 = build((2,), fills=False, adaptive=True).train()
    bank = bank_of(t5, 2)
    assert bank is not None
    t5(input_ids=IDS, attention_mask=MASK, labels=TARGETS).loss.backward()
    assert bank.wo_ex.weight.grad is not None
    assert bank.wo_ex.weight.grad.abs().sum() > 0
    ids = [id(parameter) for parameter in t5.parameters()]
    assert all(ids.count(id(parameter)) == 1 for parameter in bank.parameters())


def test_a_copy_has_a_bank_of_its_own(build: Build) -> None:
    t5 = build((2,))
    twin = copy.deepcopy(t5)
    before = logits(t5)
    bank = bank_of(twin, 2)
    assert bank is not None
    with torch.no_grad():
        bank.wo_ex.weight.mul_(2)
    assert logits(t5).equal(before)
    assert not logits(twin).equal(before)


def test_the_bank_stays_in_full_precision_beside_a_half_precision_backbone(build: Build) -> None:
    t5 = mount(build(()).bfloat16(), BankConfig((2,), 48, True))
    bank = bank_of(t5, 2)
    assert bank is not None
    assert {parameter.dtype for parameter in bank.parameters()} == {torch.float32}
    assert logits(t5).dtype == torch.bfloat16


D, TOKENS, SLOTS = 8, 12, 6


def draw(seed: int) -> tuple[EditTarget, Head]:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(TOKENS, D, generator=generator)
    norm = torch.rand(D, generator=generator) + 0.5
    weights = torch.randn(SLOTS, generator=generator).relu() + 0.01
    x = 3 * torch.randn(D, generator=generator)
    return EditTarget(weights, x), Head(rows * norm * D**-0.5, rows, 1e-6)


def equation_12_logits(head: Head, x: Tensor) -> Tensor:
    x = x.double()
    return (x / (x.pow(2).mean(-1, keepdim=True) + head.epsilon).sqrt()) @ head.rows.double().T


def after(site: EditTarget, head: Head, surgery: Surgery) -> Tensor:
    return equation_12_logits(head, site.x + surgery.weight * surgery.delta)


def lead(values: Tensor, token: int) -> float:
    rest = torch.cat([values[:token], values[token + 1 :]])
    return float(values[token] - rest.max())


@pytest.mark.parametrize(
    ("weights", "slot"),
    [([0.5, 3.0, 2.0], 1), ([0.5, 3.0, 3.0, 3.0], 1), ([2.0, 6.150621, 6.150629], 2)],
)
def test_the_slot_that_fires_most_is_chosen_and_of_equal_ones_the_lowest(
    weights: list[float], slot: int
) -> None:
    assert choose_slot(torch.tensor(weights)) == slot


def test_a_question_on_which_no_slot_fires_is_refused() -> None:
    with pytest.raises(EditRefused, match="no slot of the bank fires") as refusal:
        choose_slot(torch.zeros(4))
    assert refusal.value.code == "no_active_slot"


def test_a_given_lambda_moves_the_row_by_equation_12() -> None:
    site, head = draw(0)
    surgery = operate(site, head, new=3, old=5, scale=0.07, margin=0)
    assert surgery.slot == int(site.weights.argmax())
    assert surgery.weight == float(site.weights.max())
    torch.testing.assert_close(surgery.delta, 0.07 * (head.embedding[3] - head.embedding[5]))


@examples(200)
@given(
    seed=st.integers(0, 10**6), new=st.integers(0, TOKENS - 1), margin=st.sampled_from([0.0, 0.01, 0.5, 2.0])
)
def test_the_smallest_lambda_leads_by_the_margin_and_less_does_not(
    seed: int, new: int, margin: float
) -> None:
    site, head = draw(seed)
    old = int(equation_12_logits(head, site.x).argmax())
    effect = (head.embedding[new] - head.embedding[old]).double()
    try:
        smallest = smallest_lambda(site.x, effect, head, new, margin)
    except EditRefused:
        steps = torch.logspace(-4, 4, 400, dtype=torch.float64)[:, None]
        values = equation_12_logits(head, site.x + steps * effect)
        rest = torch.cat([values[:, :new], values[:, new + 1 :]], 1)
        assert float((values[:, new] - rest.max(1).values).max()) < margin + 1e-9
        return
    assert lead(equation_12_logits(head, site.x + smallest * effect), new) >= margin - 1e-9
    for share in (0.0, 0.5, 0.9, 0.999):
        if smallest > 0:
            assert lead(equation_12_logits(head, site.x + share * smallest * effect), new) < margin


def test_it_is_zero_when_the_new_token_leads_already() -> None:
    site, head = draw(1)
    first = int(equation_12_logits(head, site.x).argmax())
    assert smallest_lambda(site.x, head.embedding[first], head, first, 0.0) == 0.0


def test_the_answer_changes_with_the_margin_asked_for() -> None:
    changed = 0
    for seed in range(20):
        site, head = draw(seed)
        order = equation_12_logits(head, site.x).argsort(descending=True).tolist()
        try:
            surgery = operate(site, head, order[1], order[0], scale=None, margin=0.25)
        except EditRefused:
            continue
        changed += 1
        assert lead(after(site, head, surgery), order[1]) == pytest.approx(0.25, abs=1e-4)
    assert changed > 5


def test_a_token_that_no_lambda_brings_first_is_refused() -> None:
    head = Head(
        rows=torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), embedding=torch.eye(3, 2), epsilon=1e-6
    )
    with pytest.raises(
        EditRefused, match=r"cannot make token 0 lead by 0\.1 logits at any lambda"
    ) as refusal:
        smallest_lambda(torch.tensor([1.0, 1.0]), torch.tensor([1.0, -1.0]), head, 0, 0.1)
    assert refusal.value.code == "unreachable"


def test_a_lambda_above_the_limit_is_refused_with_the_limit() -> None:
    site, head = draw(0)
    second = int(equation_12_logits(head, site.x).argsort(descending=True)[1])
    first = int(equation_12_logits(head, site.x).argmax())
    scale = operate(site, head, second, first, scale=None, margin=0.0).scale
    assert scale > 0
    with pytest.raises(EditRefused, match="with lambda up to"):
        operate(site, head, second, first, scale=None, margin=0.0, limit=0.5 * scale)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"new": 5, "scale": 0.07}, "no_change"),
        ({"new": 3, "scale": 0.0}, "bad_lambda"),
        ({"new": 3, "scale": -1.0}, "bad_lambda"),
        ({"new": 3, "scale": math.nan}, "bad_lambda"),
        ({"new": 3, "scale": math.inf}, "bad_lambda"),
    ],
)
def test_what_cannot_work_is_refused_with_its_code(options: dict[str, Any], code: str) -> None:
    site, head = draw(0)
    with pytest.raises(EditRefused) as refusal:
        operate(site, head, old=5, margin=0, **options)
    assert refusal.value.code == code
