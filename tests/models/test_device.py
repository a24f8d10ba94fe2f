"""A missing device, or a dtype that a device cannot compute in, is refused by name."""

import pytest
import torch

from models.device import DeviceUnavailable, resolve_device, resolve_dtype

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
