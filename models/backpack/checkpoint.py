"""A Backpack from a folder, the hub or a training file, and back.

Read without unpickling and without remote code. The names under which a Backpack's weights are published, and how they
become ours.

Two layouts: the published one (`stanfordnlp/backpack-gpt2`), whose GPT-2 matrices lie [in, out], and that of the
authors' training code. Ours has the published names without `backpack.`, matrices [out, in], and each tied tensor once.

Convert a checkpoint of the authors' training code, offline: `python -m models.backpack.checkpoint FILE CONFIG OUT`.

A Lightning file pickles configuration objects beside its tensors. This reader builds tensors and plain containers and
nothing else: any other class is replaced by an object that ignores what it is given, so no code of the file runs.
"""

import argparse
import json
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from models.backpack.network import Backpack
from models.backpack.senses import BackpackConfig
from models.kit.checkpoint import (
    CONFIG,
    WEIGHTS,
    CheckpointError,
    fill,
    locate,
    read_config,
    read_tensors,
    save,
    shorten,
)

WORDS, PLACES = "gpt2_model.wte.weight", "gpt2_model.wpe.weight"
CONV1D = re.compile(r"\.(attn|mlp|final_mlp)\.(c_attn|c_proj|c_fc)\.weight$")  # GPT-2's Conv1D
BUFFERS = re.compile(r"\.attn\.(masked_)?bias$")  # causal masks that old releases stored

PUBLISHED_ALIASES = {
    "backpack.word_embeddings.weight": WORDS,
    "backpack.position_embeddings.weight": PLACES,
    "lm_head.weight": WORDS,
}
TRAINING_ALIASES = {
    f"transformer.{part}embeddings.{table}_embeddings.weight": name
    for part in ("", "content_model.")
    for table, name in (("word", WORDS), ("position", PLACES))
} | {"lm_head.weight": WORDS}
TRAINING_NAMES = (  # pattern of the training code's name -> ours; layers are treated in `_training_norm`
    (r"transformer\.gpt2_model\.embeddings\.word_embeddings", "gpt2_model.wte"),
    (r"transformer\.gpt2_model\.embeddings\.position_embeddings", "gpt2_model.wpe"),
    (r"transformer\.gpt2_model\.layers\.(\d+)\.mixer\.Wqkv", r"gpt2_model.h.\1.attn.c_attn"),
    (r"transformer\.gpt2_model\.layers\.(\d+)\.mixer\.out_proj", r"gpt2_model.h.\1.attn.c_proj"),
    (r"transformer\.gpt2_model\.layers\.(\d+)\.mlp\.fc1", r"gpt2_model.h.\1.mlp.c_fc"),
    (r"transformer\.gpt2_model\.layers\.(\d+)\.mlp\.fc2", r"gpt2_model.h.\1.mlp.c_proj"),
    (r"transformer\.gpt2_model\.layers\.(\d+)\.norm1", r"gpt2_model.h.\1.ln_2"),
    (r"transformer\.gpt2_model\.ln_0", "gpt2_model.h.0.ln_1"),
    (r"transformer\.content_model\.ln_0", "sense_network.ln"),
    (r"transformer\.content_model\.layers\.0\.norm1", "sense_network.block.ln_1"),
    (r"transformer\.content_model\.layers\.0\.norm2", "sense_network.block.ln_2"),
    (r"transformer\.content_model\.layers\.0\.mlp\.fc1", "sense_network.block.mlp.c_fc"),
    (r"transformer\.content_model\.layers\.0\.mlp\.fc2", "sense_network.block.mlp.c_proj"),
    (r"transformer\.content_model\.final_mlp\.fc1", "sense_network.final_mlp.c_fc"),
    (r"transformer\.content_model\.final_mlp\.fc2", "sense_network.final_mlp.c_proj"),
    (r"transformer\.contextualization_attn\.Wqkv", "sense_weight_net.c_attn"),
)
LAST_NORM = re.compile(r"transformer\.gpt2_model\.layers\.(\d+)\.norm2\.(weight|bias)")


def to_ours(tensors: Mapping[str, Tensor], layers: int) -> dict[str, Tensor]:
    """Return the weights under our names, whichever layout they have.

    Args:
        tensors: Weights by their published name.
        layers: Blocks of the context network.

    Raises:
        CheckpointError: The names belong to no layout of a Backpack, or tied tensors differ.
    """
    tensors = {name.removeprefix("model."): value for name, value in tensors.items()}
    if any(name.startswith("transformer.content_model.") for name in tensors):
        return _from_training(tensors, layers)
    if any(name.startswith("backpack.sense_network.") for name in tensors):
        return _from_published(tensors)
    if any(name.startswith("sense_network.") for name in tensors):
        return dict(tensors)
    raise CheckpointError(f"no Backpack has these tensors: {shorten(sorted(tensors))}")


def _from_published(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    weights = {
        name.removeprefix("backpack."): value.T.contiguous() if CONV1D.search(name) else value
        for name, value in tensors.items()
        if name not in PUBLISHED_ALIASES and not BUFFERS.search(name)
    }
    _check_aliases(tensors, PUBLISHED_ALIASES, weights)
    return weights


def _from_training(tensors: Mapping[str, Tensor], layers: int) -> dict[str, Tensor]:
    weights = {
        _rename(name, layers): value for name, value in tensors.items() if name not in TRAINING_ALIASES
    }
    _check_aliases(tensors, TRAINING_ALIASES, weights)
    return weights


def _rename(name: str, layers: int) -> str:
    """Return our name; the norm behind a block is the first norm of the next one in GPT-2's own order."""
    if last := LAST_NORM.fullmatch(name):
        following = int(last[1]) + 1
        norm = "ln_f" if following == layers else f"h.{following}.ln_1"
        return f"gpt2_model.{norm}.{last[2]}"
    for pattern, replacement in TRAINING_NAMES:
        if match := re.fullmatch(rf"{pattern}\.(weight|bias)", name):
            return f"{match.expand(replacement)}.{match[match.lastindex or 1]}"
    raise CheckpointError(f"no Backpack has the tensor {name}")


def _check_aliases(
    tensors: Mapping[str, Tensor], aliases: Mapping[str, str], weights: Mapping[str, Tensor]
) -> None:
    for alias, name in aliases.items():
        if alias in tensors and not (name in weights and torch.equal(tensors[alias], weights[name])):
            raise CheckpointError(f"{alias} and {name} have to be one tensor, and their values differ")


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
