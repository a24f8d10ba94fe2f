"""What an installation for GPUs computes on where no GPU can be used, told at the start."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from service.config import Settings

GPU_BUILD = "onnxruntime-gpu"  # a package that only an installation for GPUs has
ON_CPU = (
    "This installation is for a GPU, and torch sees none: ONNX Runtime and torch compute on the CPU. Check the driver "
    "and CUDA_VISIBLE_DEVICES, or install with `make serve`."
)


def explain_cpu(settings: Settings) -> str:
    """Return why an installation for GPUs computes on the CPU; "" for another one, and where a GPU is used.

    ONNX Runtime itself does not tell: its list of providers names CUDA on a machine without a GPU, too.
    """
    if all(settings.device_of(name) != "auto" for name in settings.systems) or not is_for_gpus():
        return ""
    from models.device import count_gpus  # late: torch takes seconds to import

    return "" if count_gpus() else ON_CPU


def is_for_gpus() -> bool:
    """Return whether the packages for GPUs are installed."""
    try:
        version(GPU_BUILD)
    except PackageNotFoundError:
        return False
    return True
