"""Products by private operations of torch: right and alive at any address, and replaced where they are missing."""

import pytest
import torch
from torch import Tensor

from models import torch_private
from models.torch_private import multiply_codes, multiply_codes_as_floats

WIDTH = 128
BFLOAT16_ERROR = 2.0**-7  # largest relative error of a rounded operand and a rounded result together


@pytest.fixture(params=["private", "public"])
def is_private(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Take torch's own product of codes, or the one that replaces it."""
    if request.param == "public":
        monkeypatch.setattr(torch_private, "_can_multiply_codes", lambda: False)
    return bool(request.param == "private")


def place(operand: Tensor, offset: int) -> Tensor:
    """Copy a tensor to an address that is so many bytes after an aligned one."""
    size = operand.element_size()
    room = torch.empty(operand.numel() + 64, dtype=operand.dtype)
    start = offset // size
    copy = room[start : start + operand.numel()].view(operand.shape)
    copy.copy_(operand)
    assert copy.data_ptr() % 64 == offset
    return copy


@pytest.mark.parametrize("offset", [0, 1, 4, 8, 16, 52])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 5, 6, 7, 8, 12_551])
def test_products_of_codes_are_right_at_any_address(is_private: bool, n_rows: int, offset: int) -> None:
    generator = torch.Generator().manual_seed(n_rows)
    codes = torch.randint(-127, 128, (n_rows, WIDTH), dtype=torch.int8, generator=generator)
    scales = torch.rand(n_rows, generator=generator).bfloat16()
    copy = place(codes, offset)
    for n_questions in range(1, 9):
        vectors = torch.randn(n_questions, WIDTH, generator=generator).bfloat16()
        product = multiply_codes(place(vectors, offset // 2 * 2), copy, place(scales, offset // 2 * 2))
        exact = vectors.double() @ codes.double().T * scales.double()
        largest = (vectors.double().abs() @ codes.double().abs().T) * scales.double()
        assert ((product.double() - exact).abs() <= BFLOAT16_ERROR * largest).all()


def test_products_of_part_of_the_codes_are_those_rows_of_the_whole(is_private: bool) -> None:
    codes = torch.randint(-127, 128, (40, WIDTH), dtype=torch.int8)
    scales, vectors = torch.ones(40).bfloat16(), torch.randn(3, WIDTH)
    whole = multiply_codes(vectors, codes, scales)
    assert torch.allclose(
        multiply_codes(vectors, codes[7:], scales[7:]).float(), whole[:, 7:].float(), rtol=0.02
    )


def test_the_public_product_takes_more_rows_than_it_converts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_private, "ROWS_AT_ONCE", 3)
    codes, scales = torch.ones(8, 4, dtype=torch.int8), torch.arange(8).bfloat16()
    product = multiply_codes_as_floats(torch.ones(1, 4).bfloat16(), codes, scales)
    assert product[0].tolist() == [4.0 * row for row in range(8)]


def test_a_torch_without_the_private_operation_answers_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_operands: object) -> Tensor:
        raise AttributeError("no such operation")

    monkeypatch.setattr(torch_private, "_multiply_codes", fail)
    trial = torch_private._can_multiply_codes
    trial.cache_clear()
    try:
        product = multiply_codes(
            torch.ones(1, 4), torch.ones(2, 4, dtype=torch.int8), torch.ones(2).bfloat16()
        )
        assert product.tolist() == [[4.0, 4.0]]
    finally:
        trial.cache_clear()
