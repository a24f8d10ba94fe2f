"""The context network: GPT-2, whose attention is scaled by the inverse of the layer's number.

Radford et al., 2019, with pre-norm blocks; Mistral's `scale_attn_by_inverse_layer_idx`, with which they are trained.
The scale is applied here and not left to a library, for some fused kernels ignore it without a word.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from models.backpack.senses import BackpackConfig, Mlp


def causal(query: Int[Tensor, " query"], key: Int[Tensor, " key"]) -> Bool[Tensor, "query key"]:
    """Return True where the token at place `query` may attend to the one at place `key`: to itself and to the past."""
    return key[None, :] <= query[:, None]


@dataclass(frozen=True)
class LayerCache:
    """Keys and values that one layer has computed for the tokens read so far: each [batch head token size]."""

    keys: Tensor
    values: Tensor

    def extend(self, keys: Tensor, values: Tensor) -> "LayerCache":
        """Return the cache with the keys and values of further tokens."""
        return LayerCache(torch.cat([self.keys, keys], 2), torch.cat([self.values, values], 2))


class Attention(nn.Module):
    """Multi-head attention of one layer, counted from 0."""

    def __init__(self, config: BackpackConfig, layer: int) -> None:
        super().__init__()
        self._heads = config.heads
        self._scale = (config.width // config.heads) ** -0.5 / (layer + 1)
        self.c_attn = nn.Linear(config.width, 3 * config.width)
        self.c_proj = nn.Linear(config.width, config.width)

    def forward(
        self,
        x: Float[Tensor, "batch token width"],
        may_attend: Bool[Tensor, "batch 1 token key"],
        past: LayerCache | None,
    ) -> tuple[Float[Tensor, "batch token width"], LayerCache]:
        """Mix the values of the tokens read, and return them with the longer cache."""
        split = self.c_attn(x).unflatten(-1, (3, self._heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = split
        cache = LayerCache(key, value) if past is None else past.extend(key, value)
        mixture = F.scaled_dot_product_attention(
            query, cache.keys, cache.values, attn_mask=may_attend, scale=self._scale
        )
        projection: Tensor = self.c_proj(mixture.transpose(1, 2).flatten(2))
        return projection, cache


class Block(nn.Module):
    """One transformer block with its norms before the layers."""

    def __init__(self, config: BackpackConfig, layer: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.width, config.epsilon)
        self.attn = Attention(config, layer)
        self.ln_2 = nn.LayerNorm(config.width, config.epsilon)
        self.mlp = Mlp(config.width, 4 * config.width, config.width)

    def forward(
        self, x: Tensor, may_attend: Tensor, past: LayerCache | None
    ) -> tuple[Float[Tensor, "batch token width"], LayerCache]:
        """Apply attention and the feed-forward layer, each behind its norm."""
        mixture, cache = self.attn(self.ln_1(x), may_attend, past)
        x = x + mixture
        return x + self.mlp(self.ln_2(x)), cache


class ContextNetwork(nn.Module):
    """GPT-2's embeddings, blocks and last norm."""

    def __init__(self, config: BackpackConfig) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocab, config.width)
        self.wpe = nn.Embedding(config.positions, config.width)
        self.h = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.ln_f = nn.LayerNorm(config.width, config.epsilon)

    def forward(
        self,
        ids: Int[Tensor, "batch token"],
        places: Int[Tensor, "batch token"],
        may_attend: Bool[Tensor, "batch 1 token key"],
        past: tuple[LayerCache, ...] | None,
    ) -> tuple[Float[Tensor, "batch token width"], tuple[LayerCache, ...]]:
        """Return the states of the tokens after the last norm, and the cache for later tokens."""
        x = self.wte(ids) + self.wpe(places)
        caches = []
        for layer, block in enumerate(self.h):
            x, cache = block(x, may_attend, None if past is None else past[layer])
            caches.append(cache)
        return self.ln_f(x), tuple(caches)
