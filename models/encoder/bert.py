"""BERT's layers over a batch with the padding left out: linear layers see real tokens only.

Devlin et al. (arXiv:1810.04805). The cost of a batch is that of its tokens, whatever their lengths. A caller embeds the
tokens (`models/encoder/minilm.py`; `models/kbert` with soft positions and a visible matrix) and calls `PackedBert`:

    S = (Q K^T) / sqrt(d_k) + M,   h' = LN(Wo softmax(S) V + h),   h'' = LN(W2 gelu(W1 h') + h')

M is 0 where a query may attend to a key, MASK_VALUE elsewhere: finite, so that a query without any key is finite, too.
gelu is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from models.matrix import Matrix

WIDTH = 384  # MiniLM's sizes
HEADS = 12
LAYERS = 6
EPSILON = 1e-12
MASK_VALUE = -10000.0
Weights = Mapping[str, Tensor]  # weights by Hugging Face's names
Parts = Mapping[str, tuple[Tensor, Tensor]]  # weight and bias of each part of a layer


@dataclass(frozen=True)
class LayerNorm:
    """gamma (x - mean) / deviation + beta, in float32; the deviation is the root of biased variance plus epsilon."""

    gamma: Float[Tensor, " width"]
    beta: Float[Tensor, " width"]

    def __call__(self, x: Float[Tensor, "real width"]) -> Float[Tensor, "real width"]:
        return F.layer_norm(x, self.gamma.shape, self.gamma, self.beta, EPSILON)


@dataclass(frozen=True)
class Layer:
    """One transformer block. The residual and the norms are float32, whatever the matrices are."""

    heads: int
    qkv: Matrix
    out: Matrix
    out_norm: LayerNorm
    up: Matrix
    down: Matrix
    down_norm: LayerNorm

    @staticmethod
    def from_weights(parts: Parts, heads: int, dtype: torch.dtype) -> "Layer":
        return Layer(
            heads,
            Matrix(*parts["qkv"], dtype),
            Matrix(*parts["out"], dtype),
            LayerNorm(*parts["out_norm"]),
            Matrix(*parts["up"], dtype),
            Matrix(*parts["down"], dtype),
            LayerNorm(*parts["down_norm"]),
        )

    def __call__(
        self,
        packed: Float[Tensor, "real width"],
        is_real: Bool[Tensor, "batch token"],
        bias: Float[Tensor, "batch 1 _ token"],
    ) -> Float[Tensor, "real width"]:
        batch, length = is_real.shape
        qkv = unpack(self.qkv(packed), is_real).view(batch, length, 3, self.heads, -1)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        packed = self.out_norm(self.out.add(context.transpose(1, 2).flatten(2)[is_real], packed))
        return self.down_norm(self.down.add(F.gelu(self.up(packed)), packed))


@dataclass(frozen=True)
class PackedBert:
    """The norm of the embeddings and all layers. Threads may share it: weights never change."""

    norm: LayerNorm
    layers: tuple[Layer, ...]
    dtype: torch.dtype

    @staticmethod
    def from_weights(
        weights: Weights, dtype: torch.dtype = torch.float32, heads: int = HEADS
    ) -> "PackedBert":
        """Build the layers from weights in float32, on their device, with matrices converted to `dtype`."""
        return PackedBert(
            LayerNorm(*norm_of_embeddings(weights)),
            tuple(Layer.from_weights(parts, heads, dtype) for parts in split_layers(weights)),
            dtype,
        )

    @torch.inference_mode()
    def __call__(
        self,
        embedded: Float[Tensor, "real width"],
        is_real: Bool[Tensor, "batch token"],
        may_attend: Bool[Tensor, "batch _ token"],
    ) -> Float[Tensor, "batch token width"]:
        """Read one batch.

        Args:
            is_real: False at padding.
            may_attend: [batch, query, key], or [batch, 1, key] for all queries alike.

        Returns:
            Last hidden states in float32, zero at padding.
        """
        bias = torch.zeros(may_attend.shape, dtype=self.dtype, device=embedded.device)
        bias = bias.masked_fill_(~may_attend, MASK_VALUE)[:, None]
        packed = self.norm(embedded)
        for layer in self.layers:
            packed = layer(packed, is_real, bias)
        return unpack(packed, is_real)


def unpack(
    packed: Float[Tensor, "real width"], is_real: Bool[Tensor, "batch token"]
) -> Float[Tensor, "batch token width"]:
    """Put rows of real tokens back at their places, zeros at padding."""
    if bool(is_real.all()):
        return packed.view(*is_real.shape, -1)
    padded = packed.new_zeros(*is_real.shape, packed.shape[-1])
    padded[is_real] = packed  # six times as fast as masked_scatter_
    return padded


def norm_of_embeddings(weights: Weights) -> tuple[Tensor, Tensor]:
    """Return gamma and beta of the norm before the first layer."""
    return weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]


def split_layers(weights: Weights) -> list[Parts]:
    """Return the parts of each layer: `qkv`, `out`, `out_norm`, `up`, `down`, `down_norm`."""

    def read(index: int, name: str) -> tuple[Tensor, Tensor]:
        prefix = f"encoder.layer.{index}.{name}."
        return weights[prefix + "weight"], weights[prefix + "bias"]

    def read_layer(index: int) -> Parts:
        qkv = [read(index, f"attention.self.{name}") for name in ("query", "key", "value")]
        return {
            "qkv": (torch.cat([weight for weight, _ in qkv]), torch.cat([bias for _, bias in qkv])),
            "out": read(index, "attention.output.dense"),
            "out_norm": read(index, "attention.output.LayerNorm"),
            "up": read(index, "intermediate.dense"),
            "down": read(index, "output.dense"),
            "down_norm": read(index, "output.LayerNorm"),
        }

    return [read_layer(index) for index in range(count_layers(weights))]


def count_layers(weights: Weights) -> int:
    """Count the layers of a BERT by its names."""
    return len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})
