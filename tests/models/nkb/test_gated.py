"""A gated value makes its token win from every state it was solved for, and from others like them."""

import pytest
import torch

from models.editors.gated import Pushes, direction
from models.system import EditRefused

TOKENS, D = 200, 32


@pytest.fixture(scope="module")
def head() -> torch.Tensor:
    return torch.randn(TOKENS, D, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def states() -> torch.Tensor:
    return 5 * torch.randn(64, D, generator=torch.Generator().manual_seed(1))


def test_the_wanted_token_wins_from_every_state(head: torch.Tensor, states: torch.Tensor) -> None:
    for wanted in range(0, TOKENS, 17):
        row, margin = Pushes(head).value(states, wanted)
        assert margin > 0
        assert (((states + row) @ head.T).argmax(-1) == wanted).all()


def test_it_wins_from_states_it_never_saw(head: torch.Tensor, states: torch.Tensor) -> None:
    others = 5 * torch.randn(500, D, generator=torch.Generator().manual_seed(2))
    row, _ = Pushes(head).value(states, 7)
    assert (((others + row) @ head.T).argmax(-1) == 7).float().mean() > 0.97


def test_a_token_shadowed_by_a_longer_one_is_still_reached(head: torch.Tensor) -> None:
    shadowed = head.clone()
    shadowed[1] = 1.05 * shadowed[0] + 0.3 * shadowed[2]
    assert int((shadowed @ shadowed[0]).argmax()) == 1
    unit, gap = direction(shadowed, 0)
    assert gap > 0
    assert int((shadowed @ unit).argmax()) == 0


def test_a_token_that_cannot_win_is_refused() -> None:
    twins = torch.ones(3, 4)
    with pytest.raises(EditRefused, match="cannot win"):
        direction(twins, 0)


def test_a_whole_answer_has_a_row_for_each_token(head: torch.Tensor, states: torch.Tensor) -> None:
    rows, margin = Pushes(head).values([states] * 3, [4, 5, 1])
    assert rows.shape == (3, D)
    assert margin > 0


def test_equal_input_gives_equal_bits(head: torch.Tensor, states: torch.Tensor) -> None:
    assert torch.equal(Pushes(head).value(states, 9)[0], Pushes(head).value(states, 9)[0])
