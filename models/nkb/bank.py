"""The Neural Knowledge Bank: key/value slots that read the same normalised state as a feed-forward block.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399), equations 8 to 10:

    w' = relu(n K^T)        K = wi_ex.weight [slot d], row i is key i         (8)
    ex = w' V               V = wo_ex.weight^T [slot d], row i is value i     (10)

The adapter variant is in the authors' code only: ex = A_out(relu(A_in(n) K^T) V), A_in and A_out with biases.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

Init = Literal["zero_values", "authors"]


class Bank(nn.Module):
    """Slots beside one feed-forward block, in fp32 whatever the backbone is in.

    init: `zero_values` has random keys and adds exactly nothing until it is trained or edited; `authors` has
    torch's default linear initialisation everywhere, which changes every answer at once.
    """

    def __init__(self, d_model: int, size: int, adaptive: bool, init: Init = "zero_values") -> None:
        super().__init__()
        self.wi_ex = nn.Linear(d_model, size, bias=False, dtype=torch.float32)
        self.wo_ex = nn.Linear(size, d_model, bias=False, dtype=torch.float32)
        self.ex_ada_in = nn.Linear(d_model, d_model, dtype=torch.float32) if adaptive else None
        self.ex_ada_out = nn.Linear(d_model, d_model, dtype=torch.float32) if adaptive else None
        if init == "zero_values":
            self._silence()
        elif init != "authors":
            raise ValueError(f"init: 'zero_values' or 'authors', not {init!r}")

    def slot_weights(self, n: Float[Tensor, "*position d"]) -> Float[Tensor, "*position slot"]:
        """How strongly each slot answers to a normalised state (eq. 8)."""
        adapted = n if self.ex_ada_in is None else self.ex_ada_in(n)
        return F.relu(self.wi_ex(adapted))

    def forward(self, n: Float[Tensor, "*position d"]) -> Float[Tensor, "*position d"]:
        """What the bank adds to the residual (eq. 10). No dropout, no scale, no gate."""
        ex: Tensor = self.wo_ex(self.slot_weights(n))
        if self.ex_ada_out is not None:
            ex = self.ex_ada_out(ex)
        return ex

    @property
    def values(self) -> Float[Tensor, "slot d"]:
        """Value i in row i: a view of the stored columns."""
        return self.wo_ex.weight.t()

    @torch.no_grad()
    def _silence(self) -> None:
        self.wo_ex.weight.zero_()
        if self.ex_ada_out is not None:
            self.ex_ada_out.bias.zero_()
