"""The heads of the default checkpoint as they are served: the pointer, and the ranker of pairs.

pointer: start and end logit of a token; to those of an object comes a learned weight times the rank of its fact, so
that a relation that no training saw is found by what its label says. pair: first state -> tanh -> two classes, and to
their difference comes a learned weight times what the pointer says for the objects that the candidate names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

NAMES = ("pointer.weight", "pointer.bias", "rank.weight", "support.weight")
PAIR = ("pair.1.weight", "pair.1.bias", "pair.2.weight", "pair.2.bias")


@dataclass(frozen=True)
class Heads:
    tensors: Mapping[str, Tensor]

    def point(self, states: Float[Tensor, "*token width"]) -> Float[Tensor, "*token 2"]:
        """Start and end logits."""
        return F.linear(states, self.tensors["pointer.weight"], self.tensors["pointer.bias"])

    def fits(self, first: Float[Tensor, "pair width"]) -> Float[Tensor, " pair"]:
        """Log-odds that the two texts of a pair belong together, by their first states."""
        hidden = torch.tanh(F.linear(first, self.tensors[PAIR[0]], self.tensors[PAIR[1]]))
        classes = F.linear(hidden, self.tensors[PAIR[2]], self.tensors[PAIR[3]])
        return classes[:, 1] - classes[:, 0]

    @property
    def rank_weight(self) -> float:
        return float(self.tensors["rank.weight"])

    @property
    def support_weight(self) -> float:
        return float(self.tensors["support.weight"])
