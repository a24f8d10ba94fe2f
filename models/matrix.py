"""A frozen weight matrix, laid out once for the processor that multiplies by it.

On a CPU with oneDNN, small batches spend most of a product on re-ordering the weights; doing that once makes
a product of 32 rows about 2.5 times faster. Elsewhere, and for one row of a small matrix, torch's own linear.
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
        self.weight = weight.detach().float().clone(memory_format=torch.contiguous_format)
        self.bias = None if bias is None else bias.detach().float().clone()
        self._packed = _pack(self.weight)

    def __call__(self, x: Float[Tensor, "*row in"]) -> Float[Tensor, "*row out"]:
        packed = self._layout_for(x)
        if packed is None:
            return F.linear(x, self.weight, self.bias)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, self.bias, "none", [], "")
        return product

    def relu(self, x: Float[Tensor, "*row in"]) -> Float[Tensor, "*row out"]:
        packed = self._layout_for(x)
        if packed is None:
            return F.linear(x, self.weight, self.bias).relu_()
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, self.bias, "relu", [], "")
        return product

    def add(
        self, x: Float[Tensor, "*row in"], residual: Float[Tensor, "*row out"]
    ) -> Float[Tensor, "*row out"]:
        """residual + x W^T + b."""
        packed = self._layout_for(x)
        if packed is None:
            return residual + F.linear(x, self.weight, self.bias)
        total: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, residual, packed, self.bias, "add")
        return total

    def _layout_for(self, x: Tensor) -> Tensor | None:
        is_one_row = x.numel() == x.shape[-1]
        return None if is_one_row and self.weight.numel() < SMALL else self._packed


def _pack(weight: Tensor) -> Tensor | None:
    """None where this build of torch or this device has no packed product."""
    has_product = hasattr(torch.ops.mkldnn, "_linear_pointwise")
    if weight.device.type != "cpu" or not (has_product and torch.backends.mkldnn.is_available()):  # type: ignore[no-untyped-call]
        return None
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, PACKED_ROWS)
    return packed
