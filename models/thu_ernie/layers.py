"""The three kinds of layers of THU-ERNIE: BERT's own, and two that fuse words with entities.

Zhang et al. (arXiv:1905.07129), section 3.4, as the authors' code computes it. x are token states, y entity states, m
is 1 where a token has an entity; MHA is multi-head attention over the keys that its mask leaves:

    x  = LN(Wo MHA(x) + x)
    y  = LN(Woe MHA(y) + y)                                  `norm` only
    y  = y m
    h  = gelu(W x + b + We y + be)                           `sim`: without We y + be
    x' = LN(W2 h + b2 + x),   y' = LN(W2e h + b2e + y)       `sim`: y' = y

Equations 3 and 4 of the paper give a token without an entity no be, and neither residual nor norm; the released weights
fit the code. Module names are the authors' keys, so a state dict is their checkpoint.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from models.encoder.bert import EPSILON, MASK_VALUE
from models.thu_ernie.config import ErnieConfig, LayerKind


@dataclass(frozen=True)
class Masks:
    """The masks of attention: numbers that are added to the score of each token and of each entity as a key."""

    tokens: Float[Tensor, "batch 1 1 token"]
    entities: Float[Tensor, "batch 1 1 token"]
    is_linked: Float[Tensor, "batch token 1"]  # 1 at tokens with an entity, otherwise 0

    @staticmethod
    def of(
        is_real: Bool[Tensor, "batch token"], is_linked: Bool[Tensor, "batch token"], dtype: torch.dtype
    ) -> "Masks":
        """Return the masks of a batch in the dtype of its states."""
        return Masks(_bias(is_real, dtype), _bias(is_linked, dtype), is_linked[..., None].to(dtype))


def _bias(is_key: Bool[Tensor, "batch token"], dtype: torch.dtype) -> Float[Tensor, "batch 1 1 token"]:
    zeros = torch.zeros(is_key.shape, dtype=dtype, device=is_key.device)
    return zeros.masked_fill(~is_key, MASK_VALUE)[:, None, None]


class SelfAttention(nn.Module):
    """Multi-head attention of one stream."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self._heads, self._dropout = heads, dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(
        self, x: Float[Tensor, "batch token width"], bias: Float[Tensor, "batch 1 1 token"]
    ) -> Float[Tensor, "batch token width"]:
        """Return the values of all keys, weighed for each token."""
        query, key, value = (
            layer(x).view(*x.shape[:2], self._heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        dropout = self._dropout if self.training else 0.0
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=dropout)
        return context.transpose(1, 2).flatten(2)


class Residual(nn.Module):
    """LN(W h + b + x): the way back from an inner layer into a stream."""

    def __init__(self, inner: int, width: int, dropout: float) -> None:
        super().__init__()
        self.dense = nn.Linear(inner, width)
        self.LayerNorm = nn.LayerNorm(width, EPSILON)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, h: Float[Tensor, "batch token inner"], x: Float[Tensor, "batch token width"]
    ) -> Float[Tensor, "batch token width"]:
        """Return LN(W h + b + x)."""
        state: Tensor = self.LayerNorm(self.dropout(self.dense(h)) + x)
        return state


class Attention(nn.Module):
    """The attention of a layer: over tokens, and in a `norm` layer over entities too."""

    def __init__(self, config: ErnieConfig, kind: LayerKind) -> None:
        super().__init__()
        self.self = SelfAttention(config.width, config.heads, config.attention_dropout)
        self.output = Residual(config.width, config.width, config.dropout)
        if kind == "norm":
            size = config.entity_size
            self.self_ent = SelfAttention(size, config.entity_heads, config.attention_dropout)
            self.output_ent = Residual(size, size, config.dropout)

    def forward(
        self, x: Float[Tensor, "batch token width"], bias: Float[Tensor, "batch 1 1 token"]
    ) -> Float[Tensor, "batch token width"]:
        """Let the tokens of a text attend to each other."""
        state: Tensor = self.output(self.self(x, bias), x)
        return state

    def mix_entities(
        self, y: Float[Tensor, "batch token entity"], bias: Float[Tensor, "batch 1 1 token"]
    ) -> Float[Tensor, "batch token entity"]:
        """Let the entities of a text attend to each other."""
        state: Tensor = self.output_ent(self.self_ent(y, bias), y)
        return state


class Intermediate(nn.Module):
    """gelu(W x + b), or gelu(W x + b + We y + be) in a layer that fuses."""

    def __init__(self, config: ErnieConfig, kind: LayerKind) -> None:
        super().__init__()
        self.dense = nn.Linear(config.width, config.inner)
        if kind != "sim":
            self.dense_ent = nn.Linear(config.entity_size, config.inner)

    def forward(
        self, x: Float[Tensor, "batch token width"], y: Float[Tensor, "batch token entity"] | None
    ) -> Float[Tensor, "batch token inner"]:
        """Return h; `y` is None in a layer that does not fuse."""
        h = self.dense(x)
        return F.gelu(h if y is None else h + self.dense_ent(y))


class Output(Residual):
    """The way back into the token stream, and in a layer that fuses into the entity stream too."""

    def __init__(self, config: ErnieConfig, kind: LayerKind) -> None:
        super().__init__(config.inner, config.width, config.dropout)
        if kind != "sim":
            self.dense_ent = nn.Linear(config.inner, config.entity_size)
            self.LayerNorm_ent = nn.LayerNorm(config.entity_size, EPSILON)

    def return_to_entities(
        self, h: Float[Tensor, "batch token inner"], y: Float[Tensor, "batch token entity"]
    ) -> Float[Tensor, "batch token entity"]:
        """Return y', which no mask touches: the next layer masks it."""
        state: Tensor = self.LayerNorm_ent(self.dropout(self.dense_ent(h)) + y)
        return state


class Layer(nn.Module):
    """One layer of the encoder."""

    def __init__(self, config: ErnieConfig, kind: LayerKind) -> None:
        super().__init__()
        self.kind = kind
        self.attention = Attention(config, kind)
        self.intermediate = Intermediate(config, kind)
        self.output = Output(config, kind)

    def forward(
        self, x: Float[Tensor, "batch token width"], y: Float[Tensor, "batch token entity"], masks: Masks
    ) -> tuple[Float[Tensor, "batch token width"], Float[Tensor, "batch token entity"]]:
        """Return the states of both streams after this layer."""
        x = self.attention(x, masks.tokens)
        if self.kind == "sim":
            return self.output(self.intermediate(x, None), x), y
        if self.kind == "norm":
            y = self.attention.mix_entities(y, masks.entities)
        y = y * masks.is_linked
        h = self.intermediate(x, y)
        return self.output(h, x), self.output.return_to_entities(h, y)
