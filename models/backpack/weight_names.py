"""The names under which a Backpack's weights are published, and how they become ours.

Two layouts: the published one (`stanfordnlp/backpack-gpt2`), whose GPT-2 matrices lie [in, out], and that of the
authors' training code. Ours has the published names without `backpack.`, matrices [out, in], and each tied tensor once.
"""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from models.kit.checkpoint import (
    CheckpointError,
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
