"""A gated value makes its token win from every state it was solved for, and from others like them."""

import pytest
import torch

from models.nkb.gated import COARSE, Places, Pushes, directions, find_pushes, solve

TOKENS, D, EPSILON = 200, 32, 1e-6


@pytest.fixture(scope="module")
def head() -> torch.Tensor:
    return torch.randn(TOKENS, D, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def states() -> torch.Tensor:
    return 5 * torch.randn(64, D, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def pushes(head: torch.Tensor, states: torch.Tensor) -> Pushes:
    return find_pushes(head, states)


def values(
    pushes: Pushes, head: torch.Tensor, answer_states: torch.Tensor, tokens: list[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Solve one value for each step. own: [wording, step, d]."""
    wordings, steps, _ = answer_states.shape
    rows = torch.arange(steps).repeat(wordings)
    places = Places(answer_states.flatten(0, 1), torch.tensor(tokens)[rows], rows)
    strengths, leads = solve(head, EPSILON, pushes, places, steps)
    return pushes.values(torch.tensor(tokens), strengths), leads


def test_the_wanted_token_wins_from_every_state(
    pushes: Pushes, head: torch.Tensor, states: torch.Tensor
) -> None:
    answer_states = 20 * torch.randn(2, 1, D, generator=torch.Generator().manual_seed(3))
    for token in range(0, TOKENS, 17):
        rows, lead = values(pushes, head, answer_states, [token])
        x = torch.cat([states, answer_states[:, 0]]) + rows
        logits = x / (x.pow(2).mean(-1, keepdim=True) + EPSILON).sqrt() @ head.T
        assert (logits.argmax(-1) == token).all()
        best = logits[-2:].topk(2).values
        assert float((best[:, 0] - best[:, 1]).min()) == pytest.approx(float(lead), rel=1e-4)


def test_it_wins_from_states_it_never_saw(pushes: Pushes, head: torch.Tensor, states: torch.Tensor) -> None:
    unseen_states = 5 * torch.randn(500, D, generator=torch.Generator().manual_seed(2))
    rows, _ = values(pushes, head, states[:1, None], [7])
    assert (((unseen_states + rows) @ head.T).argmax(-1) == 7).float().mean() > 0.97


def test_a_token_shadowed_by_a_longer_one_is_still_reached(head: torch.Tensor) -> None:
    embedding = head.clone()
    embedding[1] = 1.05 * embedding[0] + 0.3 * embedding[2]
    assert int((embedding @ embedding[0]).argmax()) == 1
    units, gaps = directions(embedding, torch.tensor([0, 3]))
    assert (gaps > 0).all()
    assert (embedding @ units.T).argmax(0).tolist() == [0, 3]


def test_a_token_that_cannot_win_is_told_by_its_gap() -> None:
    assert not (find_pushes(torch.ones(3, 4), torch.zeros(1, 4)).gaps > 0).any()


def test_a_whole_answer_has_a_row_for_each_token(
    pushes: Pushes, head: torch.Tensor, states: torch.Tensor
) -> None:
    rows, lead = values(pushes, head, states[:6].view(2, 3, D), [4, 5, 1])
    assert rows.shape == (3, D)
    assert (lead > 0).all()


def test_a_strength_has_the_same_bits_whatever_is_solved_with_it(
    pushes: Pushes, head: torch.Tensor, states: torch.Tensor
) -> None:
    first = Places(9 * states[:1], torch.tensor([9]), torch.tensor([0]))
    places = Places(torch.cat([9 * states[:1], states]), torch.tensor([9, *range(64)]), torch.arange(65))
    alone, together = (solve(head, EPSILON, pushes, part, len(part.row))[0] for part in (first, places))
    assert together[0] == alone[0]
    assert float(alone[0]) % COARSE == 0
