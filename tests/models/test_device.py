"""A missing device, or a dtype that a device cannot compute in, is refused by name.

A frozen matrix multiplies as torch's linear does, packed or not.
Products by private operations of torch: right and alive at any address, and replaced where they are missing.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models import torch_private
from models.device import DeviceUnavailable, resolve_device, resolve_dtype
from models.matrix import Matrix
from models.torch_private import multiply_codes, multiply_codes_as_floats

CPU = torch.device("cpu")


@pytest.fixture
def n_gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let torch report so many GPUs."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: request.param > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: request.param)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    return int(request.param)


@pytest.mark.parametrize(
    ("n_gpus", "name", "device"),
    [
        (0, "auto", "cpu"),
        (0, "cpu", "cpu"),
        (2, "auto", "cuda"),
        (2, "cpu", "cpu"),
        (2, "cuda", "cuda"),
        (2, "cuda:1", "cuda:1"),
    ],
    indirect=["n_gpus"],
)
def test_a_name_stands_for_a_device(n_gpus: int, name: str, device: str) -> None:
    assert resolve_device(name) == torch.device(device)


@pytest.mark.parametrize(
    ("n_gpus", "name", "says"),
    [
        (0, "cuda", "the device cuda is not there: torch sees no GPU"),
        (0, "cuda:0", "the device cuda:0 is not there: torch sees no GPU"),
        (2, "cuda:2", r"the device cuda:2 is not there: torch sees 2 \(cuda:0 to cuda:1\)"),
        (2, "gpu", "'gpu' is no device"),
        (2, "cpu:0", "'cpu:0' is no device"),
        (2, "cuda:", "'cuda:' is no device"),
    ],
    indirect=["n_gpus"],
)
def test_a_device_that_is_not_there_is_named(n_gpus: int, name: str, says: str) -> None:
    with pytest.raises(DeviceUnavailable, match=says):
        resolve_device(name)


def test_a_torch_without_cuda_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceUnavailable, match="built without CUDA"):
        resolve_device("cuda")


@pytest.mark.parametrize("capability", ["AVX512", "AVX2", "DEFAULT"])
def test_bfloat16_is_for_processors_that_have_it(capability: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert resolve_dtype("float32", CPU) is torch.float32
    if capability == "AVX512":
        assert resolve_dtype("bfloat16", CPU) is torch.bfloat16
    else:
        with pytest.raises(DeviceUnavailable, match="bfloat16 cannot be had on cpu"):
            resolve_dtype("bfloat16", CPU)


def test_a_dtype_of_another_name_is_refused() -> None:
    with pytest.raises(DeviceUnavailable, match="'float16' is no dtype"):
        resolve_dtype("float16", CPU)


def test_the_tests_own_device_is_one(device: torch.device) -> None:
    assert torch.zeros(1, device=device).device.type == device.type


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_matrix_multiplies_as_torch_does(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    x, weight, bias, residual = (
        torch.randn(shape, generator=generator) for shape in ((3, 8), (4, 8), (4,), (3, 4))
    )
    matrix, product = Matrix(weight, bias, dtype), F.linear(x.to(dtype), weight.to(dtype), bias.to(dtype))
    assert torch.equal(matrix(x), product)
    assert torch.equal(matrix.add(x, residual), residual + product)


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
