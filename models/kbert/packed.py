"""The encoder of the default checkpoint as it is served: MiniLM with adapters added, linear layers on real tokens only.

The layers are those of models/encoder/minilm.py; soft positions, segments and the visible matrix come from the batch.
Equal to `Encoder` on the same weights (tests/models/kbert/test_packed.py), which stays for training, for UER's norm
and for parity.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.encoder.bert import EPSILON, LAYERS, WIDTH, Layer, unpack
from models.kbert.batch import Batch


@dataclass(frozen=True)
class PackedEncoder:
    """segments: rows of padding, first and second text. Thread-safe: weights never change."""

    words: Float[Tensor, "vocab width"]
    positions: Float[Tensor, "position width"]
    segments: Float[Tensor, "segment width"]
    norm: tuple[Tensor, Tensor]
    layers: tuple[Layer, ...]

    @staticmethod
    def of(weights: Mapping[str, Tensor]) -> "PackedEncoder":
        """weights: all of MiniLM under Hugging Face's names, adapters already added."""
        types = weights["embeddings.token_type_embeddings.weight"]
        return PackedEncoder(
            weights["embeddings.word_embeddings.weight"],
            weights["embeddings.position_embeddings.weight"],
            torch.cat([torch.zeros_like(types[:1]), types]),
            (weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]),
            tuple(Layer.from_weights(weights, index) for index in range(LAYERS)),
        )

    @torch.inference_mode()
    def read(self, batch: Batch) -> Float[Tensor, "batch token width"]:
        """Last hidden states, zero at padding."""
        real = batch.real
        embedded = (
            self.words[batch.ids[real]]
            + self.positions[batch.positions[real]]
            + self.segments[batch.segments[real]]
        )
        packed = F.layer_norm(embedded, (WIDTH,), *self.norm, EPSILON)
        unseen = _additive(batch)
        for layer in self.layers:
            packed = layer(packed, real, unseen)
        return unpack(packed, real)


def _additive(batch: Batch) -> Float[Tensor, "batch 1 query key"]:
    """-inf where a query may not look. Padding looks at everything, so that its softmax is defined; nobody reads it."""
    seen = batch.visible | ~batch.real[:, :, None]
    return torch.zeros(seen.shape).masked_fill_(~seen, float("-inf"))[:, None]
