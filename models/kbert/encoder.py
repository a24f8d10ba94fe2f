"""BERT's layers over sentence trees, with soft positions and the visible matrix.

Liu et al., K-BERT, AAAI 2020 (arXiv:1909.07606), sections "Embedding layer" and "Mask-Transformer", equations 5 and 6.
The layers are those of models/encoder/bert.py. Equation 5 puts the mask under the root of d_k; the authors' code adds
-10000 behind it, and so do the layers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from models.encoder.bert import HEADS, PackedBert
from models.encoder.layers import ExactLayers, make_layers
from models.encoder.weights import share
from models.kbert.row import Batch
from models.kit import engine


@dataclass(frozen=True)
class Encoder:
    """The encoder of sentence trees. Threads may share it: weights never change."""

    words: Float[Tensor, "vocab width"]
    positions: Float[Tensor, "position width"]
    segments: Float[Tensor, "segment width"]  # embeddings of padding, first and second text
    bert: ExactLayers | PackedBert

    @staticmethod
    def from_weights(
        weights: Mapping[str, Tensor], dtype: torch.dtype = torch.float32, heads: int = HEADS
    ) -> "Encoder":
        """Build the encoder from a BERT's weights under Hugging Face's names.

        Hugging Face's segment table has no row for padding; it is zero here.

        Args:
            weights: Weights in float32, on the device to run on.

        KeyError: a tensor is missing.
        """
        types = weights["embeddings.token_type_embeddings.weight"]
        return Encoder(
            share(weights["embeddings.word_embeddings.weight"]),
            weights["embeddings.position_embeddings.weight"],
            torch.cat([torch.zeros_like(types[:1]), types]),
            make_layers(weights, dtype, heads),
        )

    @property
    def engine(self) -> str:
        """What computes the layers, for people."""
        return engine.describe(self.words.device, self.bert.dtype)

    def embed(self, batch: Batch) -> Float[Tensor, "real width"]:
        """Add word, position and segment of the real tokens, before the norm."""
        real = batch.is_real
        words = self.words[batch.ids[real]] + self.positions[batch.positions[real]]
        return words + self.segments[batch.segments[real]]

    @torch.inference_mode()
    def read(
        self, batch: Batch, is_wanted: Bool[Tensor, "batch token"] | None = None
    ) -> Float[Tensor, "batch token width"]:
        """Return the last hidden states in float32, zero at padding.

        Args:
            is_wanted: The tokens whose states are wanted; those of others may be zero. None wants all.
        """
        if isinstance(self.bert, PackedBert):
            return self.bert(self.embed(batch), batch.is_real, batch.visible)
        return self.bert(self.embed(batch), batch.is_real, batch.visible, is_wanted)
