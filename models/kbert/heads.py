"""The trained heads of K-BERT."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

POINTER, WEIGHTS = ("pointer.weight", "pointer.bias"), ("rank.weight", "support.weight")
PAIR = ("pair.1.weight", "pair.1.bias", "pair.2.weight", "pair.2.bias")
NAMES = POINTER + WEIGHTS + PAIR


@dataclass(frozen=True)
class Heads:
    """The trained tensors under NAMES, in float32."""

    tensors: Mapping[str, Tensor]

    def point(self, states: Float[Tensor, "*token width"]) -> Float[Tensor, "*token 2"]:
        """Return start and end logits."""
        weight, bias = (self.tensors[name] for name in POINTER)
        return F.linear(states, weight, bias)

    def match(self, first: Float[Tensor, "pair width"]) -> Float[Tensor, " pair"]:
        """Return the log-odds that the two texts of a pair belong together, by their first states."""
        weight_1, bias_1, weight_2, bias_2 = (self.tensors[name] for name in PAIR)
        classes = F.linear(torch.tanh(F.linear(first, weight_1, bias_1)), weight_2, bias_2)
        return classes[:, 1] - classes[:, 0]

    @property
    def rank_weight(self) -> float:
        return float(self.tensors["rank.weight"])

    @property
    def support_weight(self) -> float:
        return float(self.tensors["support.weight"])
