"""A Backpack from a folder or the hub, and back: read without unpickling and without remote code."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from models.backpack.config import BackpackConfig
from models.backpack.layouts import to_ours
from models.backpack.network import Backpack
from models.kit.checkpoint import (
    CONFIG,
    WEIGHTS,
    CheckpointError,
    fill,
    locate,
    read_config,
    read_tensors,
    save,
)

TOKENIZER = "tokenizer.json"


def load_backpack(name_or_folder: str | Path, revision: str | None = None) -> Backpack:
    """Load a checkpoint in the published layout or in ours.

    Raises:
        CheckpointError: The files are not a whole Backpack; the sentence names the missing part.
    """
    folder = locate(name_or_folder, revision)
    try:
        config = BackpackConfig.from_hf(read_config(folder))
    except ValueError as cause:
        raise CheckpointError(f"{folder / CONFIG}: {cause}") from cause
    return build_backpack(config, read_tensors(folder))


def build_backpack(config: BackpackConfig, tensors: Mapping[str, Tensor]) -> Backpack:
    """Build the network from weights in any layout.

    Raises:
        CheckpointError: Tensors are missing, unknown, of another shape or not finite.
    """
    weights = to_ours(tensors, config.layers)
    with torch.device("meta"):
        model = Backpack(config)
    floats = {name: value.float() for name, value in weights.items()}
    fill(model, floats, "the checkpoint of a Backpack", assign=True)
    return model.eval()


def save_backpack(folder: Path, model: Backpack, dtype: torch.dtype = torch.float32) -> None:
    """Write config.json and model.safetensors, each tied tensor once."""
    tensors = {name: value.to(dtype) for name, value in model.state_dict().items()}
    save(folder, {WEIGHTS: tensors}, {CONFIG: model.config.to_hf()})
