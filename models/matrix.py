"""A frozen weight matrix, laid out once for the processor that multiplies by it.

On a CPU with oneDNN, small batches spend most of a product on re-ordering the weights. Doing that once answers a
question 20 to 45 % faster (measured 2026-11 with batches of 1, 8 and 32, one and two threads, interleaved).
Elsewhere, in bfloat16, and for one row of a small matrix, torch's own linear does.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.torch_private import Activation, multiply_packed, pack

SMALL = 1 << 19  # elements of a matrix that one row crosses faster unpacked


class Matrix:
    """y = x W^T + b, with W [out in], in the dtype of W. It is not differentiable through W.

    Args:
        weight: W, copied to `dtype` on its device.
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
        self._packed = pack(self.weight) if packed else None

    def __call__(self, x: Float[Tensor, "*row in"]) -> Float[Tensor, "*row out"]:
        return self._multiply(x)

    def relu(self, x: Float[Tensor, "*row in"]) -> Float[Tensor, "*row out"]:
        return self._multiply(x, "relu")

    def add(
        self, x: Float[Tensor, "*row in"], residual: Float[Tensor, "*row out"]
    ) -> Float[Tensor, "*row out"]:
        """Return residual + x W^T + b, in the residual's dtype."""
        return self._multiply(x, residual=residual)

    def _multiply(self, x: Tensor, activation: Activation = "none", residual: Tensor | None = None) -> Tensor:
        """Multiply by oneDNN's packed product if it is faster, otherwise by torch's own."""
        if self._packed is None or (self._is_small and x.numel() == x.shape[-1]):
            weight = self.weight
            product = F.linear(x if x.dtype == weight.dtype else x.to(weight.dtype), weight, self.bias)
            if residual is not None:
                return residual + product
            return product.relu_() if activation == "relu" else product
        return multiply_packed(x, self._packed, self.bias, activation, residual)
