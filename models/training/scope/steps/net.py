"""The judge in training: MiniLM's layers on two texts at once; all weights but the embeddings are trainable.

On a CPU attention is written out: for such short texts its backward pass takes a third of the time of torch's fused
one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from models.encoder.bert import EPSILON, HEADS, LAYERS, WIDTH
from models.encoder.weights import find
from models.scope.judge import MIDDLE

NORM = ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias")
EMBEDDINGS = tuple(f"embeddings.{part}_embeddings.weight" for part in ("word", "position", "token_type"))
PREFIX = "encoder.layer."
COSINE = 15.0  # weight of the cosine alone: the layers learn the rest
MASKED = -1e9


@dataclass(frozen=True)
class PairTokens:
    """The tokens of pairs, the second text of each behind the first: ids, tokens of the first text, and of both."""

    ids: Int[Tensor, "pair token"]
    first: Int[Tensor, " pair"]
    length: Int[Tensor, " pair"]

    @staticmethod
    def of(
        ids: NDArray[np.int32], first: NDArray[np.int32], length: NDArray[np.int32], device: torch.device
    ) -> "PairTokens":
        parts = (torch.from_numpy(part).to(device, non_blocking=True).long() for part in (ids, first, length))
        return PairTokens(*parts)

    @property
    def columns(self) -> Int[Tensor, " token"]:
        return torch.arange(self.ids.shape[1], device=self.ids.device)

    def turn(self) -> "PairTokens":
        """Return the pairs with the second text first."""
        second = self.length - self.first
        source = torch.where(
            self.columns < second[:, None], self.columns + self.first[:, None], self.columns - second[:, None]
        )
        source = source.where(self.columns < self.length[:, None], self.columns)
        return PairTokens(self.ids.gather(1, source), second, self.length)

    def in_both_orders(self) -> "PairTokens":
        """Return all pairs, and behind them all pairs turned."""
        reverse = self.turn()
        parts = ((self.ids, reverse.ids), (self.first, reverse.first), (self.length, reverse.length))
        return PairTokens(*(torch.cat(part) for part in parts))


class Layer(nn.Module):
    """One block, its parameters under Hugging Face's names."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        linear = {"query": WIDTH, "key": WIDTH, "value": WIDTH}
        self.attention = nn.ModuleDict(
            {
                "self": nn.ModuleDict({name: nn.Linear(WIDTH, width) for name, width in linear.items()}),
                "output": _output(WIDTH),
            }
        )
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(WIDTH, 4 * WIDTH)})
        self.output = _output(4 * WIDTH)
        self._dropout = dropout

    def forward(
        self, x: Float[Tensor, "pair token width"], bias: Float[Tensor, "pair 1 1 token"]
    ) -> Float[Tensor, "pair token width"]:
        inner: nn.ModuleDict = self.attention["self"]  # type: ignore[assignment]
        query, key, value = (_heads(inner[name](x)) for name in ("query", "key", "value"))
        if x.is_cuda:
            context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias.to(query.dtype))
        else:
            scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5 + bias
            context = scores.softmax(-1).to(value.dtype) @ value
        x = self._add(self.attention["output"], context.transpose(1, 2).flatten(2), x)
        return self._add(self.output, F.gelu(self.intermediate["dense"](x)), x)

    def _add(self, output: nn.Module, x: Tensor, residual: Tensor) -> Tensor:
        change: Tensor = F.dropout(output.dense(x), self._dropout, self.training)  # type: ignore[operator]
        total: Tensor = output.LayerNorm(residual + change)  # type: ignore[operator]
        return total


def _output(width: int) -> nn.ModuleDict:
    return nn.ModuleDict({"dense": nn.Linear(width, WIDTH), "LayerNorm": nn.LayerNorm(WIDTH, EPSILON)})


def _heads(x: Float[Tensor, "pair token width"]) -> Float[Tensor, "pair head token d"]:
    return x.view(*x.shape[:2], HEADS, -1).transpose(1, 2)


class Net(nn.Module):
    """The layers, the marks of the two texts, and the head that reads the two [CLS]; cosines come from a frozen copy.

    Args:
        dropout: Share of the states that a layer drops while it learns.
        device: Device that it learns on.
    """

    def __init__(self, dropout: float = 0.0, device: torch.device | None = None) -> None:
        super().__init__()
        self.device = device or torch.device("cpu")
        weights = find().weights
        self._words, places, types, *self._norm = (
            weights[name].to(self.device)
            for name in (
                *(f"embeddings.{part}_embeddings.weight" for part in ("word", "position", "token_type")),
                *NORM,
            )
        )
        self._places = places + types[0]
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))
        self._frozen = [Layer().requires_grad_(False).eval().to(self.device) for _ in range(LAYERS)]
        for layers in (self.layers, nn.ModuleList(self._frozen)):
            layers.load_state_dict(_of_layers(weights))
        self.sides = nn.Parameter(torch.zeros(2, WIDTH))
        self.out = nn.Linear(2 * WIDTH, 1)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)
        self.to(self.device)

    def forward(self, pairs: PairTokens) -> Float[Tensor, " pair"]:
        """Return the log-odds that the two texts of each pair ask for the same."""
        is_second = pairs.columns >= pairs.first[:, None]
        places = pairs.columns - is_second * pairs.first[:, None]
        embedded = self._words[pairs.ids] + self._places[places] + self.sides[is_second.long()]
        x = self._read(embedded, pairs.length, self.layers)
        rows = torch.arange(len(x), device=x.device)
        marks = torch.cat([x[:, 0], x[rows, pairs.first]], -1)
        raw: Tensor = self.out(marks).squeeze(-1).float()
        return raw + COSINE * (self.cosines(pairs) - MIDDLE)

    @torch.no_grad()
    def cosines(self, pairs: PairTokens) -> Float[Tensor, " pair"]:
        """Compute the cosines of the sentence vectors of each pair."""
        vectors = []
        for ids, n_tokens in ((pairs.ids, pairs.first), (pairs.turn().ids, pairs.length - pairs.first)):
            cut = ids[:, : int(n_tokens.max())]
            x = self._words[cut] + self._places[torch.arange(cut.shape[1], device=ids.device)]
            states = self._read(x, n_tokens, self._frozen).float()
            is_real = pairs.columns[: cut.shape[1]] < n_tokens[:, None]
            vectors.append(F.normalize((states * is_real[..., None]).sum(1), dim=-1))
        return (vectors[0] * vectors[1]).sum(-1)

    def _read(self, embedded: Tensor, n_tokens: Tensor, layers: nn.ModuleList | list[Layer]) -> Tensor:
        """Run layers on the first `n_tokens` of each row."""
        x = F.layer_norm(embedded, (WIDTH,), self._norm[0], self._norm[1], EPSILON)
        if torch.is_autocast_enabled(x.device.type):
            x = x.to(
                torch.get_autocast_dtype(x.device.type)
            )  # else the sums of all layers would be in float32
        is_real = torch.arange(x.shape[1], device=x.device) < n_tokens[:, None]
        bias = torch.zeros(is_real.shape, device=x.device).masked_fill_(~is_real, MASKED)[:, None, None]
        for layer in layers:
            x = layer(x, bias)
        return x

    def load_served(self, weights: Mapping[str, Tensor]) -> None:
        """Start from the weights of a judge that is served (`__main__.read_weights`)."""
        self.layers.load_state_dict(_of_layers(weights))
        with torch.no_grad():
            self.sides.copy_(weights["sides"].view(2, WIDTH))
            self.out.weight.copy_(weights["out"].view(1, -1))

    def served_weights(self) -> dict[str, Tensor]:
        """Return the weights as `models.scope.judge` keeps them, without the bias of `out`."""
        layers = {f"{PREFIX}{name}": weight for name, weight in self.layers.state_dict().items()}
        head = {"sides": self.sides.detach().flatten(), "out": self.out.weight.detach()[0]}
        weights = dict(zip(NORM, self._norm, strict=True)) | layers | head
        return {name: weight.float().cpu() for name, weight in weights.items()}


def _of_layers(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(PREFIX): w for name, w in weights.items() if name.startswith(PREFIX)}
