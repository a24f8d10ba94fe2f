"""The smallest change of an output with which one word leads every other by a margin.

The output is linear in the logits, so this is a quadratic program with one row for each other word:

    minimise |d|^2  with  (E_v - E_u) . d >= margin - (logit_v - logit_u)  for every u

It is solved by its dual, non-negative least squares (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter
23): few of the thousands of rows are ever active. All in float64, so that the bits do not depend on a schedule.
"""

import torch
from jaxtyping import Float
from torch import Tensor

TOLERANCE = 1e-6  # tolerated error of a row, in logits: far above rounding, far below a margin
MAX_STEPS = 500  # rows that are tried before the word counts as one that cannot lead
SMALLEST = 1e-14  # multiplier below which a row is inactive


def find_push(
    embedding: Float[Tensor, "word width"], target: int, needs: Float[Tensor, " word"]
) -> Float[Tensor, " width"] | None:
    """Return the smallest push that gives `target` the lead that it needs over each word; None if no push does.

    Args:
        embedding: E in float64.
        target: The word that is to lead.
        needs: Gain that its logit needs over that of each word; minus infinity for itself.
    """
    push = torch.zeros_like(embedding[0])
    active: list[int] = []
    multipliers = push.new_zeros(0)
    for _ in range(MAX_STEPS):
        missing = needs - (embedding[target] @ push - embedding @ push)
        worst = int(missing.argmax())
        if missing[worst] <= TOLERANCE:
            return push
        if worst in active:
            return None
        active.append(worst)
        multipliers = torch.cat([multipliers, multipliers.new_zeros(1)])
        active, multipliers = _balance(
            embedding[target] - embedding[active], needs[active], active, multipliers
        )
        push = multipliers @ (embedding[target] - embedding[active])
    return None


def _balance(
    rows: Float[Tensor, "active width"],
    needs: Float[Tensor, " active"],
    active: list[int],
    multipliers: Tensor,
) -> tuple[list[int], Tensor]:
    """Solve for the multipliers of the active rows, and drop rows until none is negative."""
    while active:
        solution = torch.linalg.pinv(rows @ rows.T, hermitian=True) @ needs
        is_negative = solution <= SMALLEST
        if not is_negative.any():
            return active, solution
        steps = multipliers[is_negative] / (multipliers[is_negative] - solution[is_negative])
        multipliers = multipliers + steps.nan_to_num(0.0).clamp(0, 1).min() * (solution - multipliers)
        is_active = multipliers > SMALLEST
        rows, needs, multipliers = rows[is_active], needs[is_active], multipliers[is_active]
        active = [word for word, stays in zip(active, is_active.tolist(), strict=True) if stays]
    return active, multipliers
