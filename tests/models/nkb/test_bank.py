"""The bank's arithmetic: the paper's equations on numbers that fit on a hand."""

import pytest
import torch
from torch import Tensor

from models.nkb import Bank

N = torch.tensor([1.0, 2.0])


@pytest.fixture
def worked_example() -> Bank:
    """d = 2 and three slots; slot 2 never fires on N."""
    bank = Bank(2, 3, adaptive=False)
    with torch.no_grad():
        bank.wi_ex.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [-1, 0]]))
        bank.wo_ex.weight.copy_(torch.tensor([[0.5, 0], [0, 0.1], [9, 9]]).t())
    return bank


def test_slots_fire_where_their_key_points_the_same_way(worked_example: Bank) -> None:
    assert worked_example.slot_weights(N).tolist() == [1, 2, 0]


def test_firing_slots_add_their_values(worked_example: Bank) -> None:
    torch.testing.assert_close(worked_example(N), torch.tensor([0.5, 0.2]))


def test_moving_a_value_moves_the_output_by_its_weight(worked_example: Bank) -> None:
    direction = torch.tensor([-1.0, 1.0])
    with torch.no_grad():
        worked_example.wo_ex.weight[:, 1] += 0.07 * direction
    torch.testing.assert_close(worked_example.values[1], torch.tensor([-0.07, 0.17]))
    torch.testing.assert_close(worked_example(N), torch.tensor([0.36, 0.34]))


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_new_bank_adds_exactly_nothing(adaptive: bool) -> None:
    bank = Bank(8, 16, adaptive)
    assert bank(torch.randn(5, 8)).eq(0).all()
    fires = bank.slot_weights(torch.randn(500, 8)).gt(0).any(0)
    assert fires.all(), "its keys do fire, so it can learn"


def test_the_authors_initialisation_is_torchs_default_and_not_silent() -> None:
    bank = Bank(768, 3072, adaptive=False, init="authors")
    assert 0.035 < float(bank.wi_ex.weight.detach().abs().max()) <= 768**-0.5
    assert 0.017 < float(bank.wo_ex.weight.detach().abs().max()) <= 3072**-0.5


def test_an_unknown_initialisation_is_refused() -> None:
    with pytest.raises(Exception, match="zero_values"):  # the type checker of the tests may be first
        Bank(4, 4, False, "zeros")  # type: ignore[arg-type]


def test_the_adapter_stands_before_and_after_the_slots() -> None:
    bank = Bank(4, 6, adaptive=True, init="authors")
    assert bank.ex_ada_in is not None
    assert bank.ex_ada_out is not None
    n = torch.randn(3, 4)
    weights: Tensor = torch.relu(bank.ex_ada_in(n) @ bank.wi_ex.weight.t())
    torch.testing.assert_close(bank.slot_weights(n), weights)
    torch.testing.assert_close(bank(n), bank.ex_ada_out(weights @ bank.values))
