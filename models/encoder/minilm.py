"""MiniLM's forward pass with the padding left out: linear layers see real tokens only.

Wang et al., MiniLM (arXiv:2002.10957); BERT's layer, Devlin et al. (arXiv:1810.04805). Equal to transformers'
BertModel on real tokens (tests/models/encoder); a batch of mixed lengths costs what its tokens cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.encoder.weights import EncoderFiles, find
from models.matrix import Matrix

WIDTH = 384
HEADS = 12
LAYERS = 6
EPSILON = 1e-12
MAX_TOKENS = 128  # what all-MiniLM-L6-v2 was trained to read


@dataclass(frozen=True)
class Encoded:
    """Questions as the encoder leaves them.

    states: last hidden states, zero at padding. ids: 0 at padding. mask: True at
    real tokens. truncated: questions that were cut.
    """

    states: Float[Tensor, "batch token width"]
    ids: Int[Tensor, "batch token"]
    mask: Bool[Tensor, "batch token"]
    truncated: tuple[bool, ...]


class MiniLM:
    """The frozen encoder. Thread-safe: weights never change."""

    def __init__(self, files: EncoderFiles | None = None, max_tokens: int = MAX_TOKENS) -> None:
        files = files or find()
        weights = load_file(files.weights)
        self.tokenizer = Tokenizer.from_file(str(files.tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.max_tokens = max_tokens
        self.words = weights["embeddings.word_embeddings.weight"]
        self._places = (
            weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = (weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"])
        self._layers = [Layer.read(weights, index) for index in range(LAYERS)]

    def tokens(self, text: str) -> tuple[list[int], bool]:
        """Token ids with [CLS] and [SEP], and whether the text had to be cut."""
        ids = self.tokenizer.encode(text).ids
        if len(ids) <= self.max_tokens:
            return ids, False
        return ids[: self.max_tokens - 1] + ids[-1:], True

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> Encoded:
        rows = [self.tokens(text) for text in texts]
        ids = [torch.tensor(row) for row, _ in rows]
        lengths = torch.tensor([len(row) for row in ids])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        packed = torch.cat(ids)
        placed = pad_sequence(ids, batch_first=True)
        return Encoded(self._forward(packed, mask), placed, mask, tuple(cut for _, cut in rows))

    def _forward(
        self, ids: Int[Tensor, " real"], mask: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token width"]:
        places = torch.arange(mask.shape[1]).expand_as(mask)[mask]
        packed = F.layer_norm(self.words[ids] + self._places[places], (WIDTH,), *self._norm, EPSILON)
        unseen = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))[:, None, None, :]
        for layer in self._layers:
            packed = layer(packed, mask, unseen)
        return unpack(packed, mask)


@dataclass(frozen=True)
class Layer:
    qkv: Matrix
    out: Matrix
    out_norm: tuple[Tensor, Tensor]
    up: Matrix
    down: Matrix
    down_norm: tuple[Tensor, Tensor]

    @staticmethod
    def read(weights: dict[str, Tensor], index: int) -> "Layer":
        def pair(name: str) -> tuple[Tensor, Tensor]:
            prefix = f"encoder.layer.{index}.{name}."
            return weights[prefix + "weight"], weights[prefix + "bias"]

        heads = [pair(f"attention.self.{name}") for name in ("query", "key", "value")]
        return Layer(
            Matrix(torch.cat([w for w, _ in heads]), torch.cat([b for _, b in heads])),
            Matrix(*pair("attention.output.dense")),
            pair("attention.output.LayerNorm"),
            Matrix(*pair("intermediate.dense")),
            Matrix(*pair("output.dense")),
            pair("output.LayerNorm"),
        )

    def __call__(self, packed: Tensor, mask: Tensor, unseen: Tensor) -> Tensor:
        batch, length = mask.shape
        qkv = unpack(self.qkv(packed), mask).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=unseen)
        attended = seen.transpose(1, 2).reshape(batch, length, WIDTH)[mask]
        packed = F.layer_norm(self.out.add(attended, packed), (WIDTH,), *self.out_norm, EPSILON)
        wide = F.gelu(self.up(packed))
        return F.layer_norm(self.down.add(wide, packed), (WIDTH,), *self.down_norm, EPSILON)


def unpack(packed: Float[Tensor, "real width"], mask: Bool[Tensor, "batch token"]) -> Tensor:
    """Rows of real tokens back at their places, zeros at padding."""
    if bool(mask.all()):
        return packed.view(*mask.shape, -1)
    padded = packed.new_zeros(*mask.shape, packed.shape[-1])
    padded[mask] = packed  # in a sixth of masked_scatter_'s time
    return padded
