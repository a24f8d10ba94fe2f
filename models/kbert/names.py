"""What Hugging Face calls the encoder's tensors, and what UER and K-BERT's authors call them.

The modules here bear the authors' names, so only Hugging Face's are translated. Its segment table has no row for
padding; that row is zero when it comes from there, and is left out on the way back: only padding reads it
(specs/kbert.md, section 9).
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor

Naming = Literal["uer", "hf"]

# Hugging Face's name, the authors' name; N is the layer.
PAIRS = (
    ("embeddings.word_embeddings", "embedding.word_embedding"),
    ("embeddings.position_embeddings", "embedding.position_embedding"),
    ("embeddings.token_type_embeddings", "embedding.segment_embedding"),
    ("embeddings.LayerNorm", "embedding.layer_norm"),
    ("encoder.layer.N.attention.self.query", "encoder.transformer.N.self_attn.linear_layers.0"),
    ("encoder.layer.N.attention.self.key", "encoder.transformer.N.self_attn.linear_layers.1"),
    ("encoder.layer.N.attention.self.value", "encoder.transformer.N.self_attn.linear_layers.2"),
    ("encoder.layer.N.attention.output.dense", "encoder.transformer.N.self_attn.final_linear"),
    ("encoder.layer.N.attention.output.LayerNorm", "encoder.transformer.N.layer_norm_1"),
    ("encoder.layer.N.intermediate.dense", "encoder.transformer.N.feed_forward.linear_1"),
    ("encoder.layer.N.output.dense", "encoder.transformer.N.feed_forward.linear_2"),
    ("encoder.layer.N.output.LayerNorm", "encoder.transformer.N.layer_norm_2"),
)
TO_UER = dict(PAIRS)
TO_HF = {uer: hf for hf, uer in PAIRS}
NORM_TO_UER = {"weight": "gamma", "bias": "beta", "gamma": "gamma", "beta": "beta"}
NORM_TO_HF = {"gamma": "weight", "beta": "bias"}
SEGMENTS = "embedding.segment_embedding.weight"
WRAPPERS = ("module.", "bert.")
LAYER = 2  # where in a dotted name the number of the layer stands


def detect(names: Iterable[str]) -> Naming | None:
    """Whose names these are, by the one tensor that no BERT lacks; None for neither."""
    known = set(names)
    if "embedding.word_embedding.weight" in known:
        return "uer"
    return "hf" if "embeddings.word_embeddings.weight" in known else None


def unwrapped(name: str) -> str:
    """Without the prefixes of models that hold a BERT, however many."""
    while name.startswith(WRAPPERS):
        name = name.removeprefix("module.").removeprefix("bert.")
    return name


def to_uer(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """From Hugging Face's names; what is not of the encoder keeps its name."""
    renamed = {_uer(name): value for name, value in tensors.items()}
    types = renamed.get(SEGMENTS)
    if types is not None and types.dim() == 2:
        renamed[SEGMENTS] = torch.cat([torch.zeros_like(types[:1]), types])
    return renamed


def to_hf(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """To Hugging Face's names; what is not of the encoder keeps its name."""
    cut = {name: value[1:] if name == SEGMENTS else value for name, value in tensors.items()}
    return {_hf(name): value for name, value in cut.items()}


def _uer(name: str) -> str:
    module, kind, layer = _parts(name)
    if module not in TO_UER:
        return name
    kind = NORM_TO_UER.get(kind, kind) if module.endswith("LayerNorm") else kind
    return f"{TO_UER[module].replace('.N.', f'.{layer}.')}.{kind}"


def _hf(name: str) -> str:
    module, kind, layer = _parts(name)
    if module not in TO_HF:
        return name
    return f"{TO_HF[module].replace('.N.', f'.{layer}.')}.{NORM_TO_HF.get(kind, kind)}"


def _parts(name: str) -> tuple[str, str, str]:
    """The module with N for its layer, the tensor's own name, and the layer."""
    *path, kind = name.split(".")
    layer = path[LAYER] if len(path) > LAYER else ""
    if layer.isdecimal():
        path[LAYER] = "N"
    return ".".join(path), kind, layer
