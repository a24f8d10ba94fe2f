"""The paper's surgery: which slot, how far, and when it is refused."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from models.memory import EditRefused
from models.nkb.surgery import Head, Site, Surgery, choose_slot, operate, smallest_lambda

D, TOKENS, SLOTS = 8, 12, 6


def draw(seed: int) -> tuple[Site, Head]:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(TOKENS, D, generator=generator)
    norm = torch.rand(D, generator=generator) + 0.5
    weights = torch.randn(SLOTS, generator=generator).relu() + 0.01
    x = 3 * torch.randn(D, generator=generator)
    return Site(weights, x), Head(rows * norm * D**-0.5, rows, 1e-6)


def logits(head: Head, x: Tensor) -> Tensor:
    x = x.double()
    return (x / (x.pow(2).mean(-1, keepdim=True) + head.epsilon).sqrt()) @ head.rows.double().T


def after(site: Site, head: Head, surgery: Surgery) -> Tensor:
    return logits(head, site.x + surgery.weight * surgery.delta)


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


@settings(max_examples=200)
@given(
    seed=st.integers(0, 10**6), new=st.integers(0, TOKENS - 1), margin=st.sampled_from([0.0, 0.01, 0.5, 2.0])
)
def test_the_smallest_lambda_leads_by_the_margin_and_less_does_not(
    seed: int, new: int, margin: float
) -> None:
    site, head = draw(seed)
    old = int(logits(head, site.x).argmax())
    effect = (head.embedding[new] - head.embedding[old]).double()
    try:
        smallest = smallest_lambda(site.x, effect, head, new, margin)
    except EditRefused:
        steps = torch.logspace(-4, 4, 400, dtype=torch.float64)[:, None]
        values = logits(head, site.x + steps * effect)
        rest = torch.cat([values[:, :new], values[:, new + 1 :]], 1)
        assert float((values[:, new] - rest.max(1).values).max()) < margin + 1e-9
        return
    assert lead(logits(head, site.x + smallest * effect), new) >= margin - 1e-9
    for share in (0.0, 0.5, 0.9, 0.999):
        if smallest > 0:
            assert lead(logits(head, site.x + share * smallest * effect), new) < margin


def test_it_is_zero_when_the_new_token_leads_already() -> None:
    site, head = draw(1)
    first = int(logits(head, site.x).argmax())
    assert smallest_lambda(site.x, head.embedding[first], head, first, 0.0) == 0.0


def test_the_answer_changes_with_the_margin_asked_for() -> None:
    changed = 0
    for seed in range(20):
        site, head = draw(seed)
        order = logits(head, site.x).argsort(descending=True).tolist()
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
    second = int(logits(head, site.x).argsort(descending=True)[1])
    first = int(logits(head, site.x).argmax())
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
