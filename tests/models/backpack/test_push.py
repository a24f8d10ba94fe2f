"""The smallest push is the textbook's where that can be written down, and suffices wherever a push exists."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from models.backpack.editing.rows import find_push


def needs_of(embedding: torch.Tensor, target: int, output: torch.Tensor, margin: float) -> torch.Tensor:
    logits = embedding @ output
    needs = margin - (logits[target] - logits)
    needs[target] = -float("inf")
    return needs


def test_one_rival_is_left_behind_along_the_difference() -> None:
    embedding = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    push = find_push(embedding, 0, torch.tensor([-float("inf"), 2.0], dtype=torch.float64))
    assert push is not None
    torch.testing.assert_close(push, torch.tensor([1.0, -1.0], dtype=torch.float64))


def test_a_word_that_leads_by_enough_needs_no_push() -> None:
    embedding = torch.eye(3, dtype=torch.float64)
    push = find_push(embedding, 1, torch.tensor([-0.5, -float("inf"), 0.0], dtype=torch.float64))
    assert push is not None
    assert not push.any()


def test_a_word_between_all_others_cannot_lead() -> None:
    embedding = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    assert find_push(embedding, 2, torch.tensor([1.0, 1.0, -float("inf")], dtype=torch.float64)) is None


def test_a_word_with_a_twin_cannot_lead_it() -> None:
    embedding = torch.tensor([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    assert find_push(embedding, 0, torch.tensor([-float("inf"), 1.0, 1.0], dtype=torch.float64)) is None


@given(st.integers(0, 10_000), st.floats(0.1, 8))
def test_the_push_suffices_and_no_shorter_one_of_many_does(seed: int, margin: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(30, 16, generator=generator, dtype=torch.float64)
    output = torch.randn(16, generator=generator, dtype=torch.float64)
    target = int(torch.randint(30, (), generator=generator))
    needs = needs_of(embedding, target, output, margin)
    push = find_push(embedding, target, needs)
    if push is None:
        return
    missing = needs - (embedding[target] @ push - embedding @ push)
    assert float(missing.max()) <= 1e-6
    for _ in range(
        20
    ):  # the feasible set is convex, so a shorter push would lie in the direction of a nearby one
        other = push + 0.05 * push.norm() * torch.randn(16, generator=generator, dtype=torch.float64)
        is_enough = float((needs - (embedding[target] @ other - embedding @ other)).max()) <= 0
        assert not is_enough or float(other.norm()) >= float(push.norm()) - 1e-5
