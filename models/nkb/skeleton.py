"""The default decoder's weights under Hugging Face's names, without transformers: its import takes 5 s and 130 MB.

Serving computes with fused weights (`fused.py`), so it needs names and shapes only. A training and any other T5 use the
library's class, which has the same names.
"""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeAlias

from torch import nn

from models.nkb.projection import Projection

T5: TypeAlias = Any
"""A T5 with Hugging Face's names: transformers' class, or a `Skeleton`."""

SIZES = (
    *("vocab_size", "d_model", "d_kv", "d_ff", "num_heads", "num_decoder_layers", "layer_norm_epsilon"),
    *("relative_attention_num_buckets", "relative_attention_max_distance", "dense_act_fn", "is_gated_act"),
    *("scale_decoder_outputs", "decoder_start_token_id", "eos_token_id"),
)  # keys of config.json that a decoder needs


class Skeleton(nn.Module):
    """A module that only holds others by their names."""

    def __init__(self, **children: nn.Module) -> None:
        super().__init__()
        for name, child in children.items():
            self.add_module(name, child)


def build_skeleton(config: Mapping[str, Any]) -> T5:
    """Build the decoder behind a projection, as `backbone.build` does. KeyError: a size is missing."""
    shape = SimpleNamespace(**{key: config[key] for key in SIZES})
    d, wide = shape.d_model, shape.num_heads * shape.d_kv
    linear = partial(nn.Linear, bias=False)

    def attention(**further: nn.Module) -> Skeleton:
        return Skeleton(q=linear(d, wide), k=linear(d, wide), v=linear(d, wide), o=linear(wide, d), **further)

    def sublayer(**computing: nn.Module) -> Skeleton:
        return Skeleton(**computing, layer_norm=nn.RMSNorm(d), dropout=nn.Identity())

    def block(index: int) -> Skeleton:
        bias = nn.Embedding(shape.relative_attention_num_buckets, shape.num_heads)
        self_attention = attention(**({} if index else {"relative_attention_bias": bias}))
        dense = Skeleton(wi=linear(d, shape.d_ff), wo=linear(shape.d_ff, d))
        parts = (
            sublayer(SelfAttention=self_attention),
            sublayer(EncDecAttention=attention()),
            sublayer(DenseReluDense=dense),
        )
        return Skeleton(layer=nn.ModuleList(parts))

    shared = nn.Embedding(shape.vocab_size, d)
    blocks = nn.ModuleList(map(block, range(shape.num_decoder_layers)))
    decoder = Skeleton(embed_tokens=shared, block=blocks, final_layer_norm=nn.RMSNorm(d))
    t5: T5 = Skeleton(shared=shared, encoder=Projection(d), decoder=decoder, lm_head=shared)
    t5.config = shape
    return t5
