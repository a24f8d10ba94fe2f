"""A matrix multiplies as torch's own linear does, in its own type."""

import pytest
import torch
import torch.nn.functional as F

from models.matrix import Matrix


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_matrix_multiplies_as_torch_does(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    x, weight, bias, residual = (
        torch.randn(shape, generator=generator) for shape in ((3, 8), (4, 8), (4,), (3, 4))
    )
    matrix, product = Matrix(weight, bias, dtype), F.linear(x.to(dtype), weight.to(dtype), bias.to(dtype))
    assert torch.equal(matrix(x), product)
    assert torch.equal(matrix.relu(x), product.relu())
    assert torch.equal(matrix.add(x, residual), residual + product)
