"""The encoder: a BERT whose attention is told who may see whom.

Liu et al., K-BERT, AAAI 2020 (arXiv:1909.07606), section "Mask-Transformer". Equation 5 puts the mask under the
root of d_k; the authors' code adds -10000 behind it, and so does this (specs/kbert.md, section 4). Modules bear
the names in the authors' files.
"""

from typing import TypeVar

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from models.kbert.batch import Batch
from models.kbert.config import EncoderConfig
from models.kbert.norm import LayerNorm

UNSEEN = -10000.0
INITIAL_DEVIATION = 0.02  # of a model without a checkpoint

M = TypeVar("M", bound=nn.Module)
Hidden = Float[Tensor, "batch token hidden"]
Mask = Float[Tensor, "batch 1 query key"]


class Embedding(nn.Module):
    """e = LN(word + position + segment)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.word_embedding = nn.Embedding(config.vocab, config.hidden)
        self.position_embedding = nn.Embedding(config.positions, config.hidden)
        self.segment_embedding = nn.Embedding(config.segments, config.hidden)
        self.layer_norm = LayerNorm(config.hidden, config.norm)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        ids: Int[Tensor, "batch token"],
        positions: Int[Tensor, "batch token"],
        segments: Int[Tensor, "batch token"],
    ) -> Hidden:
        words = self.word_embedding(ids) + self.position_embedding(positions)
        embedded: Tensor = self.dropout(self.layer_norm(words + self.segment_embedding(segments)))
        return embedded


class SelfAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_k) + mask) V, then one linear map."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.linear_layers = nn.ModuleList(nn.Linear(config.hidden, config.hidden) for _ in range(3))
        self.final_linear = nn.Linear(config.hidden, config.hidden)

    def forward(self, h: Hidden, mask: Mask) -> Hidden:
        query, key, value = self._split(h)
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed: Tensor = self.final_linear(rearrange(seen, "batch head token d -> batch token (head d)"))
        return mixed

    def weights(self, h: Hidden, mask: Mask) -> Float[Tensor, "batch head query key"]:
        """What each query takes of each key."""
        query, key, _ = self._split(h)
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        return torch.softmax(scores + mask, -1)

    def _split(self, h: Tensor) -> list[Tensor]:
        shape = "batch token (head d) -> batch head token d"
        return [rearrange(linear(h), shape, head=self.heads) for linear in self.linear_layers]


class FeedForward(nn.Module):
    """W2 gelu(W1 h), with the exact gelu."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(config.hidden, config.feedforward)
        self.linear_2 = nn.Linear(config.feedforward, config.hidden)

    def forward(self, h: Hidden) -> Hidden:
        out: Tensor = self.linear_2(F.gelu(self.linear_1(h)))
        return out


class Layer(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.self_attn = SelfAttention(config)
        self.layer_norm_1 = LayerNorm(config.hidden, config.norm)
        self.feed_forward = FeedForward(config)
        self.layer_norm_2 = LayerNorm(config.hidden, config.norm)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, h: Hidden, mask: Mask) -> Hidden:
        h = self.layer_norm_1(self.dropout(self.self_attn(h, mask)) + h)
        out: Tensor = self.layer_norm_2(self.dropout(self.feed_forward(h)) + h)
        return out


class MaskTransformer(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.transformer = nn.ModuleList(Layer(config) for _ in range(config.layers))

    def forward(self, h: Hidden, mask: Mask) -> Hidden:
        for layer in self.transformer:
            h = layer(h, mask)
        return h

    def weights(self, h: Hidden, mask: Mask, layer: int) -> Float[Tensor, "batch head query key"]:
        """The attention of one layer, counted from 0."""
        for below in self.transformer[:layer]:
            h = below(h, mask)
        attention = self.transformer[layer].self_attn
        assert isinstance(attention, SelfAttention)
        return attention.weights(h, mask)


class Encoder(nn.Module):
    """Last hidden states of sentence trees."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.encoder = MaskTransformer(config)

    def forward(
        self,
        ids: Int[Tensor, "batch token"],
        positions: Int[Tensor, "batch token"],
        segments: Int[Tensor, "batch token"],
        visible: Bool[Tensor, "batch query key"] | None = None,
    ) -> Hidden:
        """visible: True where a query may attend to a key; None: to every key whose segment is not 0."""
        seen = (segments > 0)[:, None, :].expand(-1, ids.shape[1], -1) if visible is None else visible
        hidden: Tensor = self.encoder(self.embedding(ids, positions, segments), additive(seen))
        return hidden

    def read(self, batch: Batch) -> Hidden:
        states: Tensor = self(batch.ids, batch.positions, batch.segments, batch.visible)
        return states

    def attention(self, batch: Batch, layer: int) -> Float[Tensor, "batch head query key"]:
        """The attention weights of one layer, for explanations; exactly 0 where a real query may not look."""
        embedded = self.embedding(batch.ids, batch.positions, batch.segments)
        return self.encoder.weights(embedded, additive(batch.visible), layer)


def additive(visible: Bool[Tensor, "batch query key"]) -> Mask:
    """0 where a query may attend to a key, UNSEEN elsewhere, for all heads alike."""
    return torch.zeros(visible.shape, device=visible.device).masked_fill_(~visible, UNSEEN)[:, None]


def fresh(model: M) -> M:
    """The authors' start without a checkpoint: all but the norms' gamma and beta from N(0, 0.02)."""
    for name, parameter in model.named_parameters():
        if not name.endswith((".gamma", ".beta")):
            nn.init.normal_(parameter, std=INITIAL_DEVIATION)
    return model
