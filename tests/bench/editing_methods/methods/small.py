"""A bank small enough to solve naively, and edits of it with random rows."""

import torch

from tests.bench.editing_methods.methods.method import Bank, Edit, covariance
from tests.bench.editing_methods.methods.targets import targets

SLOTS, D, TOKENS, EPSILON = 48, 16, 40, 1e-6


def bank(ridge: float = 1e-2, reference: int = 200) -> Bank:
    draw = torch.Generator().manual_seed(5)
    keys = torch.randn(SLOTS, D, generator=draw)
    n = torch.randn(reference, D, generator=draw)
    values, head = torch.randn(SLOTS, D, generator=draw), torch.randn(TOKENS, D, generator=draw)
    return Bank(0.1 * values, head, EPSILON, covariance((n @ keys.T).relu(), ridge), n)


def edits(count: int, of: Bank, seed: int = 6) -> list[Edit]:
    """Of one to three tokens each."""
    draw = torch.Generator().manual_seed(seed)
    return [_edit(of, f"{place:02d}", 1 + place % 3, draw) for place in range(count)]


def _edit(of: Bank, id: str, tokens: int, draw: torch.Generator) -> Edit:
    n, x = torch.randn(tokens, D, generator=draw), 3 * torch.randn(tokens, D, generator=draw)
    a = torch.randn(tokens, SLOTS, generator=draw).relu()
    wanted = torch.randint(TOKENS, (tokens,), generator=draw)
    return Edit(
        id, f"question {id}", f"answer {id}", wanted, n, a, x, targets(of.head, of.epsilon, x, wanted)
    )
