"""The processor and the precision of a system, checked before anything is loaded.

Weights, ids, views and masks are on the device and in the dtype; blocks stay on the CPU. Memories and norms are float32
in any case.
"""

import torch

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
AUTO, CPU, CUDA = "auto", "cpu", "cuda"


class DeviceUnavailable(ValueError):
    """The device or the dtype that a setting names cannot be used; the text says what to do."""


def resolve_device(name: str) -> torch.device:
    """Return the device that a setting names.

    Args:
        name: `auto` (CUDA where torch sees a GPU, else the CPU), `cpu`, `cuda`, or `cuda:N`.

    DeviceUnavailable: no device has this name, or this process cannot use it.
    """
    kind, colon, index = name.partition(":")
    if kind not in (AUTO, CPU, CUDA) or (colon and not (kind == CUDA and index.isdecimal())):
        raise DeviceUnavailable(f"{name!r} is no device: give auto, cpu, cuda or cuda:N")
    n_gpus = count_gpus()
    if kind == CPU or (kind == AUTO and not n_gpus):
        return torch.device(CPU)
    if kind == AUTO or (not colon and n_gpus):
        return torch.device(CUDA)
    if torch.version.cuda is None:
        raise DeviceUnavailable(
            f"the device {name} cannot be used: this torch ({torch.__version__}) is built without CUDA; install one "
            "that is, or give the device cpu"
        )
    if not n_gpus:
        raise DeviceUnavailable(
            f"the device {name} is not there: torch sees no GPU; check the driver and CUDA_VISIBLE_DEVICES, or give "
            "the device cpu"
        )
    if int(index) >= n_gpus:
        raise DeviceUnavailable(
            f"the device {name} is not there: torch sees {n_gpus} (cuda:0 to cuda:{n_gpus - 1}); give one of them"
        )
    return torch.device(CUDA, int(index))


def count_gpus() -> int:
    """Count the GPUs that this torch can use."""
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def resolve_dtype(name: str, device: torch.device) -> torch.dtype:
    """Return the dtype that a setting names.

    Args:
        name: `float32` or `bfloat16`.

    DeviceUnavailable: no dtype has this name, or the device has no instructions for it.
    """
    if name not in DTYPES:
        raise DeviceUnavailable(f"{name!r} is no dtype: give {' or '.join(DTYPES)}")
    if name == "bfloat16" and not _computes_bfloat16(device):
        raise DeviceUnavailable(
            f"bfloat16 cannot be had on {device}: this processor has no instructions for it; give the dtype float32"
        )
    return DTYPES[name]


def learns_in_bfloat16(device: torch.device) -> bool:
    """Return whether the hardware multiplies in bfloat16, so that steps of a training are faster."""
    return device.type == CUDA or bool(torch.cpu.get_capabilities().get("avx512_bf16"))


def _computes_bfloat16(device: torch.device) -> bool:
    """Return whether hardware or wide vectors compute bfloat16; by single numbers it takes ten times as long."""
    if device.type == CUDA:
        with torch.cuda.device(device):
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return torch.backends.cpu.get_cpu_capability().startswith(("AVX512", "SVE"))
