"""A frozen weight matrix, laid out once for the processor that multiplies by it.

On a CPU with oneDNN, small batches spend most of a product on re-ordering the weights. Doing that once answers a
question 20 to 45 % faster (measured 2026-11 with batches of 1, 8 and 32, one and two threads, interleaved).
Elsewhere, in bfloat16, and for one row of a small matrix, torch's own linear does.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

PACKED_ROWS = 32  # batch that the packed layout is chosen for; others work too
SMALL = 1 << 19  # elements of a matrix that one row crosses faster unpacked


class Matrix:
    """y = x W^T + b, with W [out in], in the dtype of W. It is not differentiable through W.

    Args:
        weight: W, copied to `dtype` on its device.
        bias: b, copied likewise.
        dtype: Type of the products.
        packed: False keeps to torch's own linear, wherever it runs.
    """

    def __init__(
        self,
        weight: Float[Tensor, "out in"],
        bias: Float[Tensor, " out"] | None = None,
        dtype: torch.dtype = torch.float32,
        packed: bool = True,
    ) -> None:
        self.weight = weight.detach().to(dtype, copy=True, memory_format=torch.contiguous_format)
        self.bias = None if bias is None else bias.detach().to(dtype, copy=True)
        self._is_small = self.weight.numel() < SMALL
        # None where this build of torch, this device or this dtype has no packed product.
        self._packed: Tensor | None = None
        has_product = hasattr(torch.ops.mkldnn, "_linear_pointwise")
        is_plain = self.weight.device.type == "cpu" and self.weight.dtype == torch.float32
        if packed and is_plain and has_product and torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self.weight, PACKED_ROWS)

    def __call__(self, x: Float[Tensor, "*row in"]) -> Float[Tensor, "*row out"]:
        return self._multiply(x)

    def relu(self, x: Float[Tensor, "*row in"]) -> Float[Tensor, "*row out"]:
        return self._multiply(x, "relu")

    def add(
        self, x: Float[Tensor, "*row in"], residual: Float[Tensor, "*row out"]
    ) -> Float[Tensor, "*row out"]:
        """Return residual + x W^T + b, in the residual's dtype."""
        return self._multiply(x, residual=residual)

    def _multiply(
        self, x: Tensor, activation: Literal["none", "relu"] = "none", residual: Tensor | None = None
    ) -> Tensor:
        """Multiply by oneDNN's packed product if it is faster, otherwise by torch's own."""
        if self._packed is None or (self._is_small and x.numel() == x.shape[-1]):
            weight = self.weight
            product = F.linear(x if x.dtype == weight.dtype else x.to(weight.dtype), weight, self.bias)
            if residual is not None:
                return residual + product
            return product.relu_() if activation == "relu" else product
        linear = torch.ops.mkldnn._linear_pointwise
        if residual is not None:
            total: Tensor = linear.binary(x, residual, self._packed, self.bias, "add")
            return total
        packed: Tensor = linear(x, self._packed, self.bias, activation, [], "")
        return packed
