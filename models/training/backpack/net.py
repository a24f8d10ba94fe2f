"""The two networks that are trained: the Backpack, and a plain transformer of as many parameters on the same text.

Hewitt et al., arXiv:2305.16765, section 4. The plain one has the Backpack's blocks, tied embedding and initialisation.
"""

import math
from dataclasses import replace
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from models.backpack.context import ContextNetwork, causal
from models.backpack.network import INIT_STD, Backpack
from models.training.backpack.plan import Plan


@runtime_checkable
class LanguageModel(Protocol):
    """The interface of both networks, through which they are trained and measured in the same way."""

    @property
    def embedding(self) -> Float[Tensor, "vocab width"]:
        """Rows of words, of the input and of the output."""

    def predict(
        self, ids: Int[Tensor, "batch token"], is_real: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token vocab"]:
        """Return next-token logits; padding may stand before or behind a text."""


class BackpackNet(Backpack):
    """A Backpack whose sense network reads each different token of a batch once."""

    def senses_of(self, ids: Int[Tensor, "*token"]) -> Float[Tensor, "*token sense width"]:
        """Return the sense vectors of tokens."""
        different, places = torch.unique(ids, return_inverse=True)
        rows = super().senses_of(different)
        return F.embedding(places, rows.flatten(1)).view(*ids.shape, *rows.shape[1:])

    def predict(
        self, ids: Int[Tensor, "batch token"], is_real: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token vocab"]:
        """Return next-token logits."""
        logits: Tensor = self(ids, is_real).logits
        return logits


class PlainNet(nn.Module):
    """A transformer whose output projection is its embedding.

    Args:
        plan: The recipe, with the number of blocks.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.gpt2_model = ContextNetwork(replace(plan.model, layers=plan.plain_layers))
        self.apply(Backpack._initialise.__get__(self))

    @property
    def embedding(self) -> Float[Tensor, "vocab width"]:
        """Rows of words."""
        weight: Tensor = self.gpt2_model.wte.weight
        return weight

    def predict(
        self, ids: Int[Tensor, "batch token"], is_real: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token vocab"]:
        """Return next-token logits."""
        columns = torch.arange(ids.shape[1], device=ids.device)
        may_attend = (causal(columns, columns) & is_real[:, None]) | (columns[:, None] == columns)
        places = (is_real.long().cumsum(1) - 1).clamp(min=0)
        states, _ = self.gpt2_model(ids, places, may_attend[:, None], None)
        logits: Tensor = states @ self.embedding.T
        return logits


def build_net(plan: Plan, is_plain: bool) -> BackpackNet | PlainNet:
    """Build a network with the paper's initial weights; the same for the same seed."""
    torch.manual_seed(plan.seed)
    net = PlainNet(plan) if is_plain else BackpackNet(plan.model)
    std = INIT_STD / math.sqrt(2 * (plan.plain_layers if is_plain else plan.model.layers))
    for name, parameter in net.named_parameters():
        if name.endswith("c_proj.weight"):
            nn.init.normal_(parameter, std=std)
    return net


def count_parameters(net: nn.Module) -> int:
    """Return how many numbers a network learns."""
    return sum(parameter.numel() for parameter in net.parameters())
