"""The operations of torch that have no public name: called here alone, tried once, and replaced where they fail.

Such an operation can change or disappear with any release, and has no documented demands on its operands. The product
with 8-bit codes loads whole vector registers: on a processor with AVX-512, operands at an address that is no multiple
of 16 (codes) or 32 (vectors) end the process. Its operands are aligned here, whatever file or slice they come from.
"""

from functools import cache

import torch
from jaxtyping import BFloat16, Float, Int8
from torch import Tensor

ALIGNMENT = 64  # bytes to which torch itself aligns what it allocates on the CPU
ROWS_AT_ONCE = 8192  # rows of codes that the public product has as floats at one time
TOLERANCE = 0.02  # largest relative error of a product that is rounded to bfloat16, in a trial


def multiply_codes(
    vectors: Float[Tensor, "question width"],
    codes: Int8[Tensor, "row width"],
    scales: BFloat16[Tensor, " row"],
) -> BFloat16[Tensor, "question row"]:
    """Multiply vectors with rows of 8-bit codes, each times its scale, on the CPU."""
    product = _multiply_codes if _can_multiply_codes() else multiply_codes_as_floats
    return product(vectors.bfloat16(), codes, scales)


def multiply_codes_as_floats(
    vectors: BFloat16[Tensor, "question width"],
    codes: Int8[Tensor, "row width"],
    scales: BFloat16[Tensor, " row"],
) -> BFloat16[Tensor, "question row"]:
    """Multiply likewise by public operations, in two to three times the time."""
    parts = [vectors.float() @ rows.float().T for rows in torch.split(codes, ROWS_AT_ONCE)]
    return (torch.cat(parts, 1) * scales.float()).bfloat16()


def _multiply_codes(vectors: Tensor, codes: Tensor, scales: Tensor) -> Tensor:
    product: Tensor = torch._weight_int8pack_mm(_align(vectors), _align(codes), scales.contiguous())
    return product


def _align(operand: Tensor) -> Tensor:
    """Return the tensor itself if it lies in one piece at an aligned address, otherwise a copy that does."""
    operand = operand.contiguous()
    return operand if operand.data_ptr() % ALIGNMENT == 0 else operand.clone()


@cache
def _can_multiply_codes() -> bool:
    """Try the product on two small operands."""
    codes = torch.arange(-48, 48, dtype=torch.int8).reshape(3, 32)
    operands = torch.linspace(-1, 1, 64).reshape(2, 32).bfloat16(), codes, torch.ones(3, dtype=torch.bfloat16)
    try:
        return torch.allclose(
            _multiply_codes(*operands).float(), multiply_codes_as_floats(*operands).float(), rtol=TOLERANCE
        )
    except (AttributeError, RuntimeError, TypeError):
        return False
