"""A frozen weight matrix as torch multiplies by it, where the engine does not run and in training."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


class Matrix:
    """y = x W^T + b, with W [out in], in the dtype of W. It is not differentiable through W.

    Args:
        weight: W, copied to `dtype` on its device.
    """

    def __init__(
        self,
        weight: Float[Tensor, "out in"],
        bias: Float[Tensor, " out"] | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.weight = weight.detach().to(dtype, copy=True, memory_format=torch.contiguous_format)
        self.bias = None if bias is None else bias.detach().to(dtype, copy=True)

    def __call__(self, x: Float[Tensor, "*row in"]) -> Float[Tensor, "*row out"]:
        return F.linear(x.to(self.weight.dtype), self.weight, self.bias)

    def add(
        self, x: Float[Tensor, "*row in"], residual: Float[Tensor, "*row out"]
    ) -> Float[Tensor, "*row out"]:
        """Return residual + x W^T + b, in the residual's dtype."""
        return residual + self(x)
