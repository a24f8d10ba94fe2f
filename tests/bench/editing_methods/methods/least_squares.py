"""Least squares over all active edits at once, with targets that are raised until every row holds.

Equation 14 of MEMIT (arXiv:2210.07229) over the whole set S instead of one batch:

    V(S) = V0 + (lam C0 + A^T A)^-1 A^T T  =  V0 + B (I + A B)^-1 T,   B = (lam C0)^-1 A^T

A large lam leaves other questions alone and lets less arrive, so rows that do not lead by a margin get a further
target from where they stand, and all is solved again. The order of S does not matter but for rounding, and the empty
set gives V0 itself.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tests.bench.editing_methods.methods.method import Bank, Edit, Values, rows_bytes
from tests.bench.editing_methods.methods.targets import AT_A_TIME, find_targets, logits

MARGIN = 1.0  # logits by which each target token must lead
ROUNDS = 8
Solver = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class LeastSquares:
    lam: float
    name: str = "least squares"

    def start(self, bank: Bank) -> tuple[Edit, ...]:
        return ()

    def step(self, bank: Bank, state: tuple[Edit, ...], edit: Edit) -> tuple[Edit, ...]:
        return (*state, edit)

    def rows(self, bank: Bank, state: tuple[Edit, ...]) -> Values:
        if not state:
            return Values(bank.values)
        a, x = torch.cat([edit.a for edit in state]).double(), torch.cat([edit.x for edit in state])
        tokens, target = (torch.cat([getattr(edit, name) for edit in state]) for name in ("tokens", "target"))
        solve, offset = _solver(bank, a, self.lam), torch.zeros_like(bank.values, dtype=torch.float64)
        for _ in range(ROUNDS):
            offset = solve(target.double())
            now = x + (a @ offset).float()
            low = ~holds(bank, now, tokens)
            if not low.any():
                break
            target = target.index_add(
                0, low.nonzero()[:, 0], find_targets(bank.head, bank.epsilon, now[low], tokens[low])
            )
        return Values((bank.values.double() + offset).to(bank.values.dtype))

    def kept_bytes(self, edit: Edit) -> int:
        return rows_bytes(edit)


def holds(bank: Bank, x: Float[Tensor, "row d"], tokens: Int[Tensor, " row"]) -> Bool[Tensor, " row"]:
    """Return which rows give their target token with the margin."""
    return torch.cat(
        [
            _holds(bank, *part)
            for part in zip(torch.split(x, AT_A_TIME), torch.split(tokens, AT_A_TIME), strict=True)
        ]
    )


def _holds(bank: Bank, x: Tensor, tokens: Tensor) -> Tensor:
    scores = logits(bank.head, bank.epsilon, x)
    token_scores = scores.gather(1, tokens[:, None])
    other_scores = scores.scatter(1, tokens[:, None], float("-inf"))
    return token_scores[:, 0] - other_scores.amax(1) >= MARGIN


def _solver(bank: Bank, a: Float[Tensor, "row slot"], lam: float) -> Solver:
    """From targets to V - V0: through a system of as many unknowns as there are rows, or slots, if those are fewer."""
    if 2 * len(a) < a.shape[1]:
        b = (a @ bank.precision).T / lam  # symmetric; in this order a few rows cost one pass over it
        factor = torch.linalg.cholesky(a @ b + torch.eye(len(a), dtype=a.dtype))
        return lambda target: b @ torch.cholesky_solve(target, factor)
    factor = torch.linalg.cholesky(lam * bank.covariance + a.T @ a)
    return lambda target: torch.cholesky_solve(a.T @ target, factor)
