"""The last decoder layer under teacher forcing: the inputs of the bank, its slot weights and its output.

At each position of an answer, n is the input of the bank's keys, a are the slot weights, s is the input of the final
norm while the bank is silent, and ex = V^T a. None of n, a and s depends on the last bank's values, so they are
computed once for all later edits.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.decode import Decoder, Position


@dataclass(frozen=True)
class Trace:
    """The last layer at each position; position j predicts target token j. Positions of padding have no meaning."""

    n: Float[Tensor, "batch token d"]  # normalised input of the feed-forward block
    a: Float[Tensor, "batch token slot"]  # slot weights, without columns when the last layer has no bank
    s: Float[Tensor, "batch token d"]  # input of the final norm without the last bank
    ex: Float[Tensor, "batch token d"]  # addition of the last bank


@torch.no_grad()
def trace(
    decoder: Decoder,
    states: Float[Tensor, "batch state d"],
    mask: Tensor,
    targets: Int[Tensor, "batch token"],
) -> Trace:
    """Read the targets in one pass, shifted right behind the start token. Tensors may be trained on.

    Args:
        mask: True at real states.
    """
    start = targets.new_full((len(targets), 1), decoder.start)
    run = decoder.begin(states, mask, None)
    positions: list[Position] = []
    decoder.forward(run, torch.cat([start, targets[:, :-1]], 1), positions)
    (last,) = positions
    block = decoder.layers[-1].feed_forward
    s = last.h + last.active @ block.down.weight.float().t()
    n = last.unit * block.norm
    if block.slots is None:
        return Trace(n, last.bank, s, torch.zeros_like(s))
    return Trace(n, last.bank[..., : len(block.slots.stored_rows)], s, last.bank @ block.slots.values)
