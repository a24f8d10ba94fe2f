"""One vector for a row: its first token, or the mean, the maximum or the last of its tokens.

The authors let padding take part in all but the first (`padding=True`, for parity); here it is left out, so that
the length a row happens to be padded to changes nothing (specs/kbert.md, section 4).
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Pooling = Literal["first", "mean", "max", "last"]


def pool(
    hidden: Float[Tensor, "batch token hidden"],
    real: Bool[Tensor, "batch token"],
    how: Pooling,
    padding: bool = False,
) -> Float[Tensor, "batch hidden"]:
    taken = torch.ones_like(real) if padding else real
    if how == "first":
        return hidden[:, 0]
    if how == "mean":
        return hidden.masked_fill(~taken[..., None], 0).sum(1) / taken.sum(1, keepdim=True)
    if how == "max":
        return hidden.masked_fill(~taken[..., None], float("-inf")).amax(1)
    return hidden[torch.arange(len(hidden), device=hidden.device), taken.sum(1) - 1]
