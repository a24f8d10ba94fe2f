"""A Backpack from weights in any layout, and back to a folder.

Read without unpickling and without remote code. Convert a checkpoint of the authors' training code,
offline: `python -m models.backpack.checkpoint FILE CONFIG OUT`.

"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from models.backpack.network import Backpack
from models.backpack.senses import BackpackConfig
from models.backpack.training_file import read_training_file
from models.backpack.weight_names import to_ours
from models.kit.checkpoint import (
    CONFIG,
    WEIGHTS,
    fill,
    save,
)

TOKENIZER = "tokenizer.json"


def main() -> None:
    """Convert one file."""
    parser = argparse.ArgumentParser(
        description="Convert a training checkpoint of a Backpack to safetensors."
    )
    parser.add_argument("file", type=Path, help="the .ckpt of the training code")
    parser.add_argument("config", type=Path, help="a config.json with the published names of the sizes")
    parser.add_argument("out", type=Path, help="the folder to write")
    arguments = parser.parse_args()
    config = BackpackConfig.from_hf(json.loads(arguments.config.read_text("utf-8")))
    save_backpack(arguments.out, build_backpack(config, read_training_file(arguments.file)))


if __name__ == "__main__":
    main()


def build_backpack(config: BackpackConfig, tensors: Mapping[str, Tensor]) -> Backpack:
    """Build the network from weights in any layout.

    Raises:
        CheckpointError: Tensors are missing, unknown, of another shape or not finite.
    """
    weights = to_ours(tensors, config.layers)
    model = Backpack(config)  # random numbers on the device `meta` import torch's compiler
    floats = {name: value.float() for name, value in weights.items()}
    fill(model, floats, "the checkpoint of a Backpack", assign=True)
    return model.eval()


def save_backpack(folder: Path, model: Backpack, dtype: torch.dtype = torch.float32) -> None:
    """Write config.json and model.safetensors, each tied tensor once."""
    tensors = {name: value.to(dtype) for name, value in model.state_dict().items()}
    save(folder, {WEIGHTS: tensors}, {CONFIG: model.config.to_hf()})
