"""BERT's layers over a batch with the padding left out: linear layers see real tokens only.

Devlin et al. (arXiv:1810.04805). A batch of mixed lengths costs what its tokens cost. Whoever reads a batch embeds
its tokens (`models/encoder/minilm.py`; `models/kbert` with soft positions and a visible matrix) and calls `PackedBert`.
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
Weights = Mapping[str, Tensor]  # under Hugging Face's names
Norm = tuple[Tensor, Tensor]  # weight and bias, float32


@dataclass(frozen=True)
class Layer:
    """One transformer block. The residual and the norms are float32, whatever the matrices are."""

    qkv: Matrix
    out: Matrix
    out_norm: Norm
    up: Matrix
    down: Matrix
    down_norm: Norm

    @staticmethod
    def from_weights(weights: Weights, index: int, dtype: torch.dtype = torch.float32) -> "Layer":
        def pair(name: str) -> tuple[Tensor, Tensor]:
            prefix = f"encoder.layer.{index}.{name}."
            return weights[prefix + "weight"], weights[prefix + "bias"]

        heads = [pair(f"attention.self.{name}") for name in ("query", "key", "value")]
        return Layer(
            Matrix(torch.cat([w for w, _ in heads]), torch.cat([b for _, b in heads]), dtype),
            Matrix(*pair("attention.output.dense"), dtype),
            pair("attention.output.LayerNorm"),
            Matrix(*pair("intermediate.dense"), dtype),
            Matrix(*pair("output.dense"), dtype),
            pair("output.LayerNorm"),
        )

    def __call__(
        self,
        packed: Float[Tensor, "real width"],
        is_real: Bool[Tensor, "batch token"],
        bias: Float[Tensor, "batch 1 _ token"],
    ) -> Float[Tensor, "real width"]:
        batch, length = is_real.shape
        qkv = unpack(self.qkv(packed), is_real).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        attended = context.transpose(1, 2).reshape(batch, length, WIDTH)[is_real]
        packed = F.layer_norm(self.out.add(attended, packed), (WIDTH,), *self.out_norm, EPSILON)
        return F.layer_norm(
            self.down.add(F.gelu(self.up(packed)), packed), (WIDTH,), *self.down_norm, EPSILON
        )


@dataclass(frozen=True)
class PackedBert:
    """The norm of the embeddings and all layers. Thread-safe: weights never change."""

    norm: Norm
    layers: tuple[Layer, ...]
    dtype: torch.dtype

    @staticmethod
    def from_weights(weights: Weights, dtype: torch.dtype = torch.float32) -> "PackedBert":
        """Args: weights: on the device to run on, in float32; matrices are converted to `dtype`."""
        norm = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]
        return PackedBert(
            norm, tuple(Layer.from_weights(weights, index, dtype) for index in range(LAYERS)), dtype
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
            embedded: sum of the embeddings of each real token, row after row.
            is_real: False at padding.
            may_attend: [batch, query, key], or [batch, 1, key] for all queries alike. A query needs one key at least.

        Returns:
            Last hidden states in float32, zero at padding.
        """
        bias = torch.zeros(may_attend.shape, dtype=self.dtype, device=embedded.device)
        bias = bias.masked_fill_(~may_attend, float("-inf"))[:, None]
        packed = F.layer_norm(embedded, (WIDTH,), *self.norm, EPSILON)
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
    padded[is_real] = packed  # in a sixth of masked_scatter_'s time
    return padded
