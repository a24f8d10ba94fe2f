"""Reserved gated slots: each edit owns a gate on the question and one value per answer token.

Our addition, not in the paper's eq. 8-10 (a T-Patcher neuron, arXiv:2301.09785, with a scope like SERAC's,
arXiv:2206.06520, and a solved value). When the gate is open, slot j replaces what the bank adds at decode step j:

    x_j = s_j + v_j,   v_j = beta_j u_j,   u_j a unit direction in which token y_j beats every other

where s_j enters the final norm when the bank is silent. Because the bank is replaced and not added to, an edit
never depends on another one, and a value solved once holds for good. Only the question decides which states s_j
come up, so beta_j is taken large enough for a sample of them, not for the edit's own alone.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from models.system import EditRefused

MARGIN = 0.5  # share of the value's push that must be left over after the state's own preference
ROUNDS = 64


def direction(
    head: Float[Tensor, "token d"], wanted: int, rounds: int = ROUNDS
) -> tuple[Float[Tensor, " d"], float]:
    """Unit direction in which the wanted token's logit beats every other, and by how much it does.

    Perceptron steps from the token's own row, for the case that another row is longer in its direction.
    EditRefused("unreachable") when no round separates it.
    """
    own = head[wanted]
    point = own / own.norm()
    best, best_gap = point, float("-inf")
    for _ in range(rounds):
        gaps = own @ point - head @ point
        gaps[wanted] = float("inf")
        gap, rival = gaps.min(0)
        if float(gap) > best_gap:
            best, best_gap = point, float(gap)
        step = own - head[rival]
        point = point + 0.3 * step / step.norm()
        point = point / point.norm()
    if best_gap <= 0:
        raise EditRefused(
            "unreachable", f"token {wanted} of the answer cannot win; write the answer differently"
        )
    return best, best_gap


class Pushes:
    """Values for answers of one model. What depends on the token alone is worked out once for each token."""

    def __init__(self, head: Float[Tensor, "token d"]) -> None:
        self._head = head
        self._known: dict[int, tuple[Tensor, Tensor, float]] = {}

    def value(
        self, states: Float[Tensor, "state d"], wanted: int, margin: float = MARGIN
    ) -> tuple[Float[Tensor, " d"], float]:
        """The row that makes the wanted token win from every one of the states, and the smallest margin left.

        logit_y(s + beta u) - logit_k(s + beta u) >= margin beta gap, for all states s and tokens k: linear in beta.
        """
        unit, ahead, gap = self._direction(wanted)
        logits = states @ self._head.T
        behind = (logits - logits[:, wanted, None]).amax(0)
        enough = float((behind / (ahead - margin * gap)).max())
        beta = max(enough, float(states.norm(dim=-1).max()))
        after = logits - logits[:, wanted, None] - beta * ahead
        after[:, wanted] = float("-inf")
        return beta * unit, -float(after.amax())

    def values(
        self, states: Sequence[Float[Tensor, "state d"]], wanted: Sequence[int]
    ) -> tuple[Float[Tensor, "step d"], float]:
        """One row per answer token, end token included. states[j]: what may stand before token j."""
        solved = [self.value(s, token) for s, token in zip(states, wanted, strict=True)]
        return torch.stack([row for row, _ in solved]), min(margin for _, margin in solved)

    def _direction(self, wanted: int) -> tuple[Tensor, Tensor, float]:
        """The direction, by how much the token is ahead of each other in it, and of the nearest."""
        if wanted not in self._known:
            unit, gap = direction(self._head, wanted)
            ahead = self._head[wanted] @ unit - self._head @ unit
            ahead[wanted] = float("inf")
            self._known[wanted] = unit, ahead, gap
        return self._known[wanted]
