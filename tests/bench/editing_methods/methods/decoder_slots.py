"""Reserved gated slots whose gate is the decoder's own state: a threshold for each, set against reference questions.

A T-Patcher neuron (Huang et al., arXiv:2301.09785) with a GRACE-like ball and a solved value. With u = n / |n|:

    tau_j = max(tau_min, c_j + q (1 - c_j)),   c_j the largest cosine of u_j to a reference key
    slot i = argmax over u . u_i >= tau_i;   x = s + ex_i + t_i, or s + ex where none opens

Decided where the answer begins. `gated.py` is the same with the gate on the question, and a value that does not rest
on the state it meets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from models.memory import EditRefused
from tests.bench.editing_methods.methods.method import NONE, Bank, Edit

SAME = 1 - 1e-6  # a cosine above this is the same key


@dataclass(frozen=True, eq=False)
class Slots:
    """Gated slots. keys: unit vectors, in ledger order. thresholds: least cosine at which each opens."""

    keys: Float[Tensor, "slot d"]
    thresholds: Float[Tensor, " slot"]
    steps: Sequence[Float[Tensor, "_ d"]]

    def select(self, n: Float[Tensor, "batch d"]) -> Int[Tensor, " batch"]:
        """Return the slot of the largest cosine for each row; the later edit's if two are equal."""
        if not len(self.keys):
            return torch.full((len(n),), NONE)
        cosines = F.normalize(n, dim=-1) @ self.keys.T
        cosines = cosines.masked_fill(cosines < self.thresholds, float("-inf")).flip(1)
        best = cosines.max(1)
        return torch.where(best.values.isinf(), NONE, len(self.keys) - 1 - best.indices)


Slot = tuple[Tensor, float, Tensor]


@dataclass(frozen=True)
class DecoderSlots:
    """tau_min: the least cosine of any gate. q: how far from the nearest reference key towards its own it opens."""

    tau_min: float
    q: float
    name: str = "decoder slots"

    def start(self, bank: Bank) -> list[Slot]:
        return []

    def step(self, bank: Bank, state: list[Slot], edit: Edit) -> list[Slot]:
        key = F.normalize(edit.n[0], dim=-1)
        nearest = float((F.normalize(bank.reference, dim=-1) @ key).max())
        if nearest >= SAME:
            raise EditRefused(
                "gate_collision", "the question reads like a reference question: the gate cannot open"
            )
        threshold = max(self.tau_min, nearest + self.q * (1 - nearest))
        state.append((key, threshold, edit.a @ bank.values + edit.target))
        return state

    def rows(self, bank: Bank, state: list[Slot]) -> Slots:
        keys = [key for key, _, _ in state]
        key_rows = torch.stack(keys) if keys else bank.reference.new_empty(0, bank.reference.shape[1])
        return Slots(
            key_rows, torch.tensor([threshold for _, threshold, _ in state]), [steps for *_, steps in state]
        )

    def kept_bytes(self, edit: Edit) -> int:
        """Return the size of the key, its threshold, and a value for each token."""
        return edit.n[0].nbytes + 4 + edit.target.nbytes
