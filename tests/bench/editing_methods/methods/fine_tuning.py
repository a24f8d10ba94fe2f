"""Plain fine-tuning of the values on one edit after the other: the baseline of every editing paper.

    V <- Adam on mean_j CE(head(rmsnorm(x_j + a_j (V - V0))), y_j), everything else frozen

Kingma and Ba (arXiv:1412.6980), a fresh optimiser for each edit. It knows neither other questions nor earlier edits.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tests.bench.editing_methods.methods.method import Bank, Edit, Values, rows_bytes
from tests.bench.editing_methods.methods.targets import loss


@dataclass(frozen=True)
class FineTuning:
    rate: float
    steps: int
    name: str = "fine-tuning"

    def start(self, bank: Bank) -> Float[Tensor, "slot d"]:
        return bank.values.clone()

    def step(self, bank: Bank, state: Float[Tensor, "slot d"], edit: Edit) -> Float[Tensor, "slot d"]:
        """Take one step; only slots that fire have a gradient, so only these move."""
        fires = edit.a.any(0).nonzero()[:, 0]
        a, values = edit.a[:, fires], state[fires].requires_grad_()
        before = edit.x - a @ bank.values[fires]
        optimiser = torch.optim.Adam([values], lr=self.rate)
        for _ in range(self.steps):
            mean_loss = loss(bank.head, bank.epsilon, before + a @ values, edit.tokens).mean()
            (values.grad,) = torch.autograd.grad(mean_loss, values)
            optimiser.step()
        return state.index_copy(0, fires, values.detach())

    def rows(self, bank: Bank, state: Float[Tensor, "slot d"]) -> Values:
        return Values(state)

    def kept_bytes(self, edit: Edit) -> int:
        return rows_bytes(edit)
