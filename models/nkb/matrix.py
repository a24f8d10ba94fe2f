"""A frozen weight matrix, laid out once for the processor that multiplies by it.

On a CPU with oneDNN, small batches spend most of a product on re-ordering the weights; doing that once makes
a product of 32 rows about 2.5 times faster. Elsewhere, and for one row of a small matrix, torch's linear.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

PACKED_ROWS = 32  # the batch that the packed layout is chosen for; others work too
SMALL = 1 << 19  # elements of a matrix that one row crosses faster unpacked


class Matrix:
    """y = x W^T + b, with W [out in]. Not differentiable through W."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None = None) -> None:
        self.weight = weight.detach().float().contiguous()
        self.bias = None if bias is None else bias.detach().float().contiguous()
        self._packed = _pack(self.weight)

    def __call__(self, x: Float[Tensor, "*row in"]) -> Float[Tensor, "*row out"]:
        return self._product(x, "none")

    def relu(self, x: Float[Tensor, "*row in"]) -> Float[Tensor, "*row out"]:
        return self._product(x, "relu")

    def add(
        self, x: Float[Tensor, "*row in"], residual: Float[Tensor, "*row out"]
    ) -> Float[Tensor, "*row out"]:
        """residual + x W^T + b."""
        if self._packed is None or self._unpacked_is_faster(x):
            return residual + F.linear(x, self.weight, self.bias)
        return torch.ops.mkldnn._linear_pointwise.binary(x, residual, self._packed, self.bias, "add")

    def _product(self, x: Tensor, after: str) -> Tensor:
        if self._packed is None or self._unpacked_is_faster(x):
            product = F.linear(x, self.weight, self.bias)
            return product if after == "none" else product.relu_()
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, after, [], "")

    def _unpacked_is_faster(self, x: Tensor) -> bool:
        return self.weight.numel() < SMALL and x.numel() == x.shape[-1]


def _pack(weight: Tensor) -> Tensor | None:
    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return None
    return torch.ops.mkldnn._reorder_linear_weight(weight, PACKED_ROWS)
