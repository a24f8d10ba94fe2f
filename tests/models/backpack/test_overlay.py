"""Projection, factors and their overlay."""

import pytest
import torch

from models.backpack.editing.overlay import SenseOverlay, project
from models.backpack.network import Backpack
from tests.models.backpack.conftest import CONFIG

A, H = torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0])
SENSES = torch.tensor([[2.0, 1.0]])
IDS = torch.tensor([[5, 9, 30, 5]])
UNIT = torch.ones(CONFIG.senses)


def test_the_worked_example_of_a_projection() -> None:
    assert project(SENSES, A, H).tolist() == [[1.0, 2.0]]


def test_an_orthogonal_projection_leaves_nothing_of_the_word() -> None:
    assert (project(SENSES, A, H, orthogonal=True) @ A).tolist() == [0.0]


def test_half_the_strength_goes_half_the_way() -> None:
    assert project(SENSES, A, H, strength=0.5).tolist() == [[1.5, 1.5]]
    assert torch.equal(project(SENSES, A, H, strength=0.0), SENSES)


@pytest.mark.parametrize(("away", "towards"), [(torch.zeros(2), H), (A, torch.zeros(2))])
def test_a_direction_without_length_is_refused(away: torch.Tensor, towards: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="length zero"):
        project(SENSES, away, towards)


def test_an_overlay_of_unchanged_senses_changes_no_bit(backpack: Backpack) -> None:
    base = backpack.senses_of(IDS)[0]
    overlay = SenseOverlay.of({token: (base[place], UNIT) for place, token in ((0, 5), (2, 30))})
    assert torch.equal(backpack(IDS, edits=overlay).logits, backpack(IDS).logits)


def test_a_factor_of_zero_takes_a_sense_out_of_the_sum(backpack: Backpack) -> None:
    factors = torch.ones(CONFIG.senses)
    factors[1] = 0
    overlay = SenseOverlay.of({30: (backpack.senses_of(torch.tensor(30)), factors)})
    before, after = backpack(IDS), backpack(IDS, edits=overlay)
    share = before.alpha[0, 1, :, 2, None] * before.senses[0, 2, 1]
    torch.testing.assert_close(after.output[0], before.output[0] - share, atol=1e-5, rtol=0)
    assert torch.equal(after.alpha, before.alpha)
