"""The encoder: a BERT whose attention is told who may see whom, with linear layers on real tokens only.

Liu et al., K-BERT, AAAI 2020 (arXiv:1909.07606), section "Mask-Transformer", equations 5 and 6:

    S = (Q K^T) / sqrt(d_k) + M,   h' = LN(Wo softmax(S) V + h),   h'' = LN(W2 gelu(W1 h') + h')

Equation 5 puts M under the root of d_k; the authors' code adds -10000 behind it, and so does this. The exact gelu.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from models.encoder.minilm import unpack
from models.kbert.row import Batch
from models.matrix import Matrix

MASK_VALUE = -10000.0
BERT_EPSILON, UER_EPSILON = 1e-12, 1e-6
NormKind = Literal["bert", "uer"]


@dataclass(frozen=True)
class LayerNorm:
    """gamma (x - mean) / deviation + beta, in float32 whatever the dtype of x.

    kind: "bert" divides by the root of the biased variance plus epsilon (Devlin et al., arXiv:1810.04805), "uer", the
    library of K-BERT's authors, by the deviation with N - 1 plus epsilon. A checkpoint fits one of them: over 12 layers
    the outputs differ by some thousandths.
    """

    gamma: Float[Tensor, " width"]
    beta: Float[Tensor, " width"]
    kind: NormKind = "bert"

    def __call__(self, x: Float[Tensor, "*row width"]) -> Float[Tensor, "*row width"]:
        wide = x.float()
        if self.kind == "bert":
            return F.layer_norm(wide, self.gamma.shape, self.gamma, self.beta, BERT_EPSILON).to(x.dtype)
        deviation, mean = torch.std_mean(wide, -1, keepdim=True)
        return (self.gamma * (wide - mean) / (deviation + UER_EPSILON) + self.beta).to(x.dtype)


@dataclass(frozen=True)
class Layer:
    """qkv: query, key and value of all heads in one product."""

    heads: int
    qkv: Matrix
    out: Matrix
    out_norm: LayerNorm
    up: Matrix
    down: Matrix
    down_norm: LayerNorm

    def __call__(
        self,
        packed: Float[Tensor, "real width"],
        is_real: Bool[Tensor, "batch token"],
        mask: Float[Tensor, "batch 1 query key"],
    ) -> Float[Tensor, "real width"]:
        batch, length = is_real.shape
        qkv = unpack(self.qkv(packed), is_real).view(batch, length, 3, self.heads, -1)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        values = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        values = values.transpose(1, 2).reshape(batch, length, -1)[is_real]
        packed = self.out_norm(self.out.add(values, packed))
        return self.down_norm(self.down.add(F.gelu(self.up(packed)), packed))


@dataclass(frozen=True)
class Encoder:
    """segments: rows of padding, first and second text. Thread-safe: weights never change."""

    words: Float[Tensor, "vocab width"]
    positions: Float[Tensor, "position width"]
    segments: Float[Tensor, "segment width"]
    norm: LayerNorm
    layers: tuple[Layer, ...]

    @staticmethod
    def build(
        weights: Mapping[str, Tensor],
        heads: int,
        norm: NormKind = "bert",
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> "Encoder":
        """An encoder of a BERT's weights under Hugging Face's names.

        Hugging Face's segment table has no row for padding; it is zero here. Norms stay in float32.

        Raises: KeyError when a tensor is missing.
        """

        def place(name: str) -> Tensor:
            return weights[name].to(device, dtype)

        def read_norm(name: str) -> LayerNorm:
            gamma, beta = (weights[f"{name}.{kind}"].to(device, torch.float32) for kind in ("weight", "bias"))
            return LayerNorm(gamma, beta, norm)

        def read_matrix(*names: str) -> Matrix:
            weight, bias = (
                torch.cat([place(f"{name}.{kind}") for name in names]) for kind in ("weight", "bias")
            )
            return Matrix(weight, bias)

        def read_layer(prefix: str) -> Layer:
            return Layer(
                heads,
                read_matrix(*(f"{prefix}.attention.self.{name}" for name in ("query", "key", "value"))),
                read_matrix(f"{prefix}.attention.output.dense"),
                read_norm(f"{prefix}.attention.output.LayerNorm"),
                read_matrix(f"{prefix}.intermediate.dense"),
                read_matrix(f"{prefix}.output.dense"),
                read_norm(f"{prefix}.output.LayerNorm"),
            )

        types = place("embeddings.token_type_embeddings.weight")
        n_layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})
        return Encoder(
            place("embeddings.word_embeddings.weight"),
            place("embeddings.position_embeddings.weight"),
            torch.cat([torch.zeros_like(types[:1]), types]),
            read_norm("embeddings.LayerNorm"),
            tuple(read_layer(f"encoder.layer.{index}") for index in range(n_layers)),
        )

    def embed(self, batch: Batch) -> Float[Tensor, "real width"]:
        """LN(word + position + segment) of the real tokens."""
        real = batch.is_real
        words = self.words[batch.ids[real]] + self.positions[batch.positions[real]]
        return self.norm(words + self.segments[batch.segments[real]])

    @torch.inference_mode()
    def read(self, batch: Batch) -> Float[Tensor, "batch token width"]:
        """Last hidden states, zero at padding."""
        packed = self.embed(batch)
        mask = additive_mask(batch.visible).to(packed.dtype)
        for layer in self.layers:
            packed = layer(packed, batch.is_real, mask)
        return unpack(packed, batch.is_real)


def additive_mask(visible: Bool[Tensor, "batch query key"]) -> Float[Tensor, "batch 1 query key"]:
    """0 where a query may attend to a key, MASK_VALUE elsewhere, for all heads alike.

    What padding attends to is finite and nobody reads it.
    """
    return torch.zeros(visible.shape, device=visible.device).masked_fill_(~visible, MASK_VALUE)[:, None]
