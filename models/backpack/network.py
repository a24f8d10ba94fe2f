"""A Backpack: how much of each sense of each word so far enters the next word.

Hewitt et al., arXiv:2305.16765, section 3. The output is linear in the senses:

    logits_t = E o_t,   o_t = sum over l and j <= t of alpha[l, t, j] C(x_j)_l
    alpha[l, t] = softmax over j of q[t, l] . k[j, l] / sqrt(width / senses)
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from models.backpack.context import ContextNetwork, LayerCache, causal
from models.backpack.senses import BackpackConfig, SenseNetwork

MASKED = -10000.0  # added to the score of a key that may not be attended to, as the authors' code does
INIT_STD = 0.02


@runtime_checkable
class SenseEdits(Protocol):
    """The changes of an edited memory: the senses of tokens, and their weights."""

    def apply(
        self,
        ids: Int[Tensor, "batch token"],
        senses: Float[Tensor, "batch token sense width"],
    ) -> Float[Tensor, "batch token sense width"]:
        """Return the senses that enter the sum, multiplied by the factors of their weights.

        A factor on the weight of a sense at a token equals a factor on that sense, for the output is linear in both.
        """


@dataclass(frozen=True)
class Cache:
    """The state after a text, so that its next token costs one step."""

    layers: tuple[LayerCache, ...]  # keys and values of the context network
    keys: Tensor  # keys of the sense weights [batch sense token size]
    senses: Tensor  # senses of the tokens, edits and factors included [batch token sense width]
    is_real: Tensor  # False at padding [batch token]

    def select(self, rows: Int[Tensor, " row"]) -> "Cache":
        """Return the cache of some texts of the batch."""
        layers = tuple(LayerCache(layer.keys[rows], layer.values[rows]) for layer in self.layers)
        return Cache(layers, self.keys[rows], self.senses[rows], self.is_real[rows])


@dataclass(frozen=True)
class Reading:
    """The network's output for some tokens."""

    logits: Tensor  # next-token logits over the padded vocabulary [batch token vocab]
    alpha: Tensor  # sense weights, factors left out [batch sense token key]
    senses: Tensor  # senses of every key [batch key sense width], multiplied by their factors
    output: Tensor  # weighted sum of senses [batch token width]
    context: Tensor  # states of the context network [batch token width]
    cache: Cache


class SenseWeights(nn.Module):
    """The queries and keys that weigh senses."""

    def __init__(self, config: BackpackConfig) -> None:
        super().__init__()
        self._senses, self._scale = config.senses, (config.width // config.senses) ** -0.5
        self.c_attn = nn.Linear(config.width, 2 * config.width)

    def read(self, context: Float[Tensor, "batch token width"]) -> tuple[Tensor, Tensor]:
        """Return queries and keys, each [batch sense token size]."""
        query, key = self.c_attn(context).unflatten(-1, (2, self._senses, -1)).permute(2, 0, 3, 1, 4)
        return query, key

    def weigh(
        self, query: Tensor, key: Tensor, may_attend: Bool[Tensor, "batch 1 token key"]
    ) -> Float[Tensor, "batch sense token key"]:
        """Return alpha: for each sense, weights over the keys that sum to one."""
        scores = query @ key.transpose(-1, -2) * self._scale
        weights: Tensor = (scores + torch.where(may_attend, 0.0, MASKED)).softmax(-1)
        return weights


class Backpack(nn.Module):
    """The language model. The state dict has the names of the published checkpoint, without `backpack.`."""

    def __init__(self, config: BackpackConfig) -> None:
        super().__init__()
        self.config = config
        self.gpt2_model = ContextNetwork(config)
        self.sense_network = SenseNetwork(config)
        self.sense_weight_net = SenseWeights(config)
        self.apply(self._initialise)

    @property
    def embedding(self) -> Float[Tensor, "vocab width"]:
        """E: the input of both networks and the output projection."""
        weight: Tensor = self.gpt2_model.wte.weight
        return weight

    def senses_of(self, ids: Int[Tensor, "*token"]) -> Float[Tensor, "*token sense width"]:
        """Return the sense vectors of tokens, as the checkpoint has them."""
        senses: Tensor = self.sense_network(self.gpt2_model.wte(ids))
        return senses

    def forward(
        self,
        ids: Int[Tensor, "batch token"],
        is_real: Bool[Tensor, "batch token"] | None = None,
        edits: SenseEdits | None = None,
        past: Cache | None = None,
    ) -> Reading:
        """Read tokens, after those that `past` holds.

        Args:
            ids: Token ids; padding may stand before or behind a text.
            is_real: False at padding; None without any.
            edits: Senses and weights that differ from the checkpoint's.
            past: The cache of the tokens before.
        """
        is_real = torch.ones_like(ids, dtype=torch.bool) if is_real is None else is_real
        n_past = 0 if past is None else past.is_real.shape[1]
        every = is_real if past is None else torch.cat([past.is_real, is_real], 1)
        places = (every.long().cumsum(1) - 1).clamp(min=0)[:, n_past:]
        may_attend = self._may_attend(every, n_past)
        context, layers = self.gpt2_model(ids, places, may_attend, None if past is None else past.layers)
        query, keys = self.sense_weight_net.read(context)
        senses = self.senses_of(ids)
        if edits is not None:
            senses = edits.apply(ids, senses)
        if past is not None:
            keys, senses = torch.cat([past.keys, keys], 2), torch.cat([past.senses, senses], 1)
        alpha = self.sense_weight_net.weigh(query, keys, may_attend)
        output = torch.einsum("bltj,bjld->btd", alpha, senses)
        cache = Cache(layers, keys, senses, every)
        return Reading(output @ self.embedding.T, alpha, senses, output, context, cache)

    @staticmethod
    def _may_attend(is_real: Bool[Tensor, "batch key"], n_past: int) -> Bool[Tensor, "batch 1 token key"]:
        """Return which keys each new token may attend to; padding sees itself, so that no row is empty."""
        columns = torch.arange(is_real.shape[1], device=is_real.device)
        rows = columns[n_past:]
        return ((causal(rows, columns) & is_real[:, None]) | (rows[:, None] == columns))[:, None]

    def mask_padding(self, logits: Float[Tensor, "*row vocab"]) -> Float[Tensor, "*row vocab"]:
        """Give the ids without a text a probability of zero."""
        is_word = torch.arange(self.config.vocab, device=logits.device) < self.config.words
        return logits.masked_fill(~is_word, float("-inf"))

    def _initialise(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=INIT_STD)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
