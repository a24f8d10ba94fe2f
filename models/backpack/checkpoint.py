"""A Backpack from a folder or the hub, and back: read without unpickling and without remote code."""

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from models.backpack.config import BackpackConfig
from models.backpack.layouts import to_ours
from models.backpack.network import Backpack
from models.checkpoint import CONFIG, WEIGHTS, CheckpointError, locate, read_config, read_tensors, shorten

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
    expected = model.state_dict()
    if missing := sorted(expected.keys() - weights.keys()):
        raise CheckpointError(f"the checkpoint lacks {shorten(missing)}")
    if unknown := sorted(weights.keys() - expected.keys()):
        raise CheckpointError(f"the checkpoint has tensors that no Backpack has: {shorten(unknown)}")
    for name, value in weights.items():
        if value.shape != expected[name].shape:
            shapes = f"{list(value.shape)}, and config.json asks for {list(expected[name].shape)}"
            raise CheckpointError(f"{name} is {shapes}")
        if not value.isfinite().all():
            raise CheckpointError(f"{name} has values that are not finite")
    model.load_state_dict({name: value.float() for name, value in weights.items()}, assign=True)
    return model.eval()


def save_backpack(folder: Path, model: Backpack, dtype: torch.dtype = torch.float32) -> None:
    """Write config.json and model.safetensors, each tied tensor once."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(json.dumps(model.config.to_hf(), indent=1) + "\n")
    save_file(
        {name: value.to(dtype).contiguous() for name, value in model.state_dict().items()}, folder / WEIGHTS
    )
