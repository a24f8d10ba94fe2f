"""The authors' folder of THU-ERNIE, or a BERT's, read into a model.

The keys are BERT's, and those of the entity stream: `self_ent`, `output_ent`, `dense_ent` and `LayerNorm_ent` in a
layer that fuses, and `cls.predictions_ent`. A BERT fills the shared keys, and the entity stream starts new.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from models.kit.checkpoint import read_config, read_tensors
from models.thu_ernie.checkpoint import CONFIG
from models.thu_ernie.config import LAYER_TYPES, ErnieConfig, LayerKind
from tests.parity.ernie import ErnieWithHead

KNOWLEDGE = re.compile(r"\.(self_ent|output_ent|dense_ent|LayerNorm_ent|predictions_ent)\.")
NETWORK = ("embeddings.", "encoder.", "pooler.")  # Keys of a BERT that was saved without a head
NORMS = {"gamma": "weight", "beta": "bias"}  # Names of old BERTs, ours


class Load(NamedTuple):
    """A model, and the names that the checkpoint lacks, and that the model lacks."""

    model: Any
    new: list[str]
    ignored: list[str]


def load(
    folder: Path, build: Callable[[ErnieConfig], ErnieWithHead], kinds: tuple[LayerKind, ...] | None = None
) -> Load:
    """Fill a model from a folder; `kinds` are the kinds of the layers of a BERT that shall learn entities."""
    path = folder / CONFIG
    content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else read_config(folder)
    model = build(ErnieConfig.from_json(content if kinds is None else content | {LAYER_TYPES: list(kinds)}))
    result = model.load_state_dict(rename(read_tensors(folder)), strict=False)
    return Load(model.eval(), result.missing_keys, result.unexpected_keys)


def rename(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors under today's names: `gamma` is a weight, and a network without a head stands under `bert.`."""
    is_bare = not any(name.startswith("bert.") for name in tensors)
    renamed_tensors = {}
    for name, value in tensors.items():
        stem, dot, last = name.rpartition(".")
        prefix = "bert." if is_bare and name.startswith(NETWORK) else ""
        renamed_tensors[prefix + stem + dot + NORMS.get(last, last)] = value
    return renamed_tensors
