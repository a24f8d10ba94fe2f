"""Matrices in 8 bits with a scale for each row: a quarter of the bytes, in a file and in a product of integers."""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

LARGEST_CODE = 127
SMALLEST_SCALE = 1e-8  # scale of a row whose weights are all zero
SCALE = ".scale"  # ends the name of the scales of a matrix


def quantize(weight: Float[Tensor, "out in"]) -> tuple[Int[Tensor, "out in"], Float[Tensor, "out 1"]]:
    """Round a matrix, each row scaled to its own largest entry; the codes times the scales are served."""
    scales = (weight.abs().amax(1, keepdim=True) / LARGEST_CODE).clamp(min=SMALLEST_SCALE)
    return (weight / scales).round().clamp(-LARGEST_CODE, LARGEST_CODE).to(torch.int8), scales


def round_matrices(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights as a file holds them: codes and scales of the matrices, and the vectors as they are."""
    tensors = {name: weight.contiguous() for name, weight in weights.items()}
    for name, weight in weights.items():
        if weight.dim() == 2:
            tensors[name], tensors[name + SCALE] = quantize(weight)
    return tensors


def restore_matrices(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of such a file in float32."""
    return {
        name: tensor * tensors[name + SCALE] if name + SCALE in tensors else tensor
        for name, tensor in tensors.items()
        if not name.endswith(SCALE)
    }
