"""A gated value makes its token win from every state it was solved for, and from others like them."""

import pytest
import torch

from models.editors.gated import Pushes, directions
from models.system import EditRefused

TOKENS, D, EPSILON = 200, 32, 1e-6


@pytest.fixture(scope="module")
def head() -> torch.Tensor:
    return torch.randn(TOKENS, D, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def states() -> torch.Tensor:
    return 5 * torch.randn(64, D, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def pushes(head: torch.Tensor, states: torch.Tensor) -> Pushes:
    return Pushes(head, states, EPSILON)


def test_the_wanted_token_wins_from_every_state(
    pushes: Pushes, head: torch.Tensor, states: torch.Tensor
) -> None:
    own = 20 * torch.randn(2, 1, D, generator=torch.Generator().manual_seed(3))
    for wanted in range(0, TOKENS, 17):
        rows, lead = pushes.values(own, [wanted])
        x = torch.cat([states, own[:, 0]]) + rows
        logits = x / (x.pow(2).mean(-1, keepdim=True) + EPSILON).sqrt() @ head.T
        assert (logits.argmax(-1) == wanted).all()
        best = logits[-2:].topk(2).values
        assert float((best[:, 0] - best[:, 1]).min()) == pytest.approx(lead, rel=1e-4)


def test_it_wins_from_states_it_never_saw(pushes: Pushes, head: torch.Tensor, states: torch.Tensor) -> None:
    others = 5 * torch.randn(500, D, generator=torch.Generator().manual_seed(2))
    rows, _ = pushes.values(states[:1, None], [7])
    assert (((others + rows) @ head.T).argmax(-1) == 7).float().mean() > 0.97


def test_a_token_shadowed_by_a_longer_one_is_still_reached(head: torch.Tensor) -> None:
    shadowed = head.clone()
    shadowed[1] = 1.05 * shadowed[0] + 0.3 * shadowed[2]
    assert int((shadowed @ shadowed[0]).argmax()) == 1
    units, gaps = directions(shadowed, torch.tensor([0, 3]))
    assert (gaps > 0).all()
    assert (shadowed @ units.T).argmax(0).tolist() == [0, 3]


def test_a_token_that_cannot_win_is_refused() -> None:
    twins = torch.ones(3, 4)
    with pytest.raises(EditRefused, match="cannot win"):
        Pushes(twins, torch.zeros(1, 4), EPSILON).values(torch.zeros(1, 1, 4), [0])


def test_a_whole_answer_has_a_row_for_each_token(pushes: Pushes, states: torch.Tensor) -> None:
    rows, lead = pushes.values(states[:6].view(2, 3, D), [4, 5, 1])
    assert rows.shape == (3, D)
    assert lead > 0


def test_equal_input_gives_equal_bits(head: torch.Tensor, states: torch.Tensor) -> None:
    first, second = (Pushes(head, states, EPSILON).values(states[:1, None], [9])[0] for _ in range(2))
    assert torch.equal(first, second)
