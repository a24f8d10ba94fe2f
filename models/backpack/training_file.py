"""A training file of the authors, read without running code of it.

A Lightning file pickles configuration objects beside its tensors. This reader builds tensors and plain containers and
nothing else: any other class is replaced by an object that ignores what it is given, so no code of the file runs.
"""

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from models.kit.checkpoint import (
    CheckpointError,
)

ALLOWED = {
    ("collections", "OrderedDict"),
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch._utils", "_rebuild_parameter"),
}


class Ignored:
    """Stands for an object of a class that is not allowed; takes any argument and does nothing."""

    def __init__(self, *args: object, **options: object) -> None:
        del args, options

    def __call__(self, *args: object, **options: object) -> "Ignored":
        """Return itself."""
        return self

    def __setstate__(self, state: object) -> None:
        """Ignore the state."""

    def __setitem__(self, key: object, value: object) -> None:
        """Ignore the item."""

    def append(self, item: object) -> None:
        """Ignore the item."""

    def extend(self, items: object) -> None:
        """Ignore the items."""


class TensorUnpickler(pickle.Unpickler):
    """Builds tensors and containers alone."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class if it is allowed, otherwise `Ignored`."""
        return super().find_class(module, name) if (module, name) in ALLOWED else Ignored


def read_training_file(path: Path) -> dict[str, Tensor]:
    """Read the weights of a training checkpoint.

    Raises:
        CheckpointError: The file is no archive of torch, or holds no state dict.
    """
    reader = SimpleNamespace(Unpickler=TensorUnpickler, load=None, __name__="tensors")
    if not path.is_file():
        raise CheckpointError(f"{path} is missing")
    with path.open("rb") as file:
        if file.read(2) != b"PK":
            raise CheckpointError(
                f"{path} is not an archive as torch.save writes it: save it again with torch >= 1.6"
            )
    try:
        content = torch.load(path, map_location="cpu", pickle_module=reader, weights_only=False)
    except Exception as cause:
        raise CheckpointError(f"{path} cannot be read as tensors: {cause}") from cause
    weights = content.get("state_dict", content) if isinstance(content, dict) else None
    if not isinstance(weights, dict) or not weights:
        raise CheckpointError(f"{path} holds no state dict")
    tensors = {name: value for name, value in weights.items() if isinstance(value, Tensor)}
    if len(tensors) < len(weights):
        raise CheckpointError(f"{path} holds something else than tensors in its state dict")
    return tensors
