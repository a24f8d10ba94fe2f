"""A bank small enough to solve naively, and edits of it with random rows."""

import torch

from tests.bench.editing_methods.methods.method import Bank, Edit, Replay, covariance
from tests.bench.editing_methods.methods.targets import find_targets

SLOTS, D, TOKENS, EPSILON = 48, 16, 40, 1e-6


def make_bank(ridge: float = 1e-2, reference: int = 200) -> Bank:
    generator = torch.Generator().manual_seed(5)
    keys = torch.randn(SLOTS, D, generator=generator)
    n = torch.randn(reference, D, generator=generator)
    values, head = torch.randn(SLOTS, D, generator=generator), torch.randn(TOKENS, D, generator=generator)
    weights, tokens = (n @ keys.T).relu(), torch.randint(TOKENS, (reference,), generator=generator)
    replay = Replay(weights.half(), 3 * torch.randn(reference, D, generator=generator), tokens)
    return Bank(0.1 * values, head, EPSILON, covariance(weights, ridge), n, replay)


def make_edits(count: int, bank: Bank, seed: int = 6) -> list[Edit]:
    """Return edits whose answers have one to three tokens."""
    generator = torch.Generator().manual_seed(seed)
    return [_make_edit(bank, f"{place:02d}", 1 + place % 3, generator) for place in range(count)]


def _make_edit(bank: Bank, id: str, tokens: int, generator: torch.Generator) -> Edit:
    n, x = torch.randn(tokens, D, generator=generator), 3 * torch.randn(tokens, D, generator=generator)
    a = torch.randn(tokens, SLOTS, generator=generator).relu()
    answer_tokens = torch.randint(TOKENS, (tokens,), generator=generator)
    return Edit(
        id,
        f"question {id}",
        f"answer {id}",
        answer_tokens,
        n,
        a,
        x,
        find_targets(bank.head, bank.epsilon, x, answer_tokens),
    )
