"""A frozen matrix multiplies as torch's linear does, packed or not."""

import pytest
import torch
import torch.nn.functional as F

from models.matrix import SMALL, Matrix

D_IN, D_OUT = 96, 160


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("rows", [1, 7, 32])
@pytest.mark.parametrize("d_in", [D_IN, SMALL // D_OUT + 1])
def test_products_are_those_of_torchs_linear(
    packed: bool, rows: int, d_in: int, device: torch.device
) -> None:
    weight, bias = torch.randn(D_OUT, d_in, device=device), torch.randn(D_OUT, device=device)
    x, residual = torch.randn(rows, d_in, device=device), torch.randn(rows, D_OUT, device=device)
    matrix, expected = Matrix(weight, bias, packed=packed), F.linear(x, weight, bias)
    torch.testing.assert_close(matrix(x), expected, atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(matrix.relu(x), expected.relu(), atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(matrix.add(x, residual), residual + expected, atol=1e-3, rtol=1e-4)


def test_a_bfloat16_matrix_adds_to_a_residual_that_stays_float32(device: torch.device) -> None:
    weight, x = torch.randn(D_OUT, D_IN, device=device), torch.randn(4, D_IN, device=device)
    residual = torch.randn(4, D_OUT, device=device)
    matrix = Matrix(weight, dtype=torch.bfloat16)
    assert matrix(x).dtype == torch.bfloat16
    total = matrix.add(x, residual)
    assert total.dtype == torch.float32
    torch.testing.assert_close(total, residual + F.linear(x, weight), atol=0.3, rtol=0.05)
