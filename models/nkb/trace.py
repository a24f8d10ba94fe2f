"""The last decoder layer read under teacher forcing: what the bank saw, what it fired, and what it added.

At each position of an answer, n enters the bank's keys, a are the slot weights, s enters the final norm when the bank
is silent, and ex = V^T a. None of n, a and s depends on the last bank's values, so they are computed once, whatever is
edited later.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.decode import Decoder, Position


@dataclass(frozen=True)
class Trace:
    """Position j predicts target token j. Positions of padding hold numbers without meaning.

    n: normalised feed-forward input. a: slot weights, no columns when the last layer has no bank.
    s: input of the final norm without the last bank. ex: what the last bank adds.
    """

    n: Float[Tensor, "batch token d"]
    a: Float[Tensor, "batch token slot"]
    s: Float[Tensor, "batch token d"]
    ex: Float[Tensor, "batch token d"]


@torch.no_grad()
def trace(
    decoder: Decoder,
    states: Float[Tensor, "batch state d"],
    mask: Tensor,
    targets: Int[Tensor, "batch token"],
) -> Trace:
    """One pass over the targets, shifted right behind the start token. Tensors may be trained on.

    Args:
        targets: token ids with the end token, padded with any valid id, on the decoder's device.
    """
    start = targets.new_full((len(targets), 1), decoder.start)
    run = decoder.begin(states, mask, None, targets.shape[1])
    positions: list[Position] = []
    decoder.forward(run, torch.cat([start, targets[:, :-1]], 1), positions)
    (last,) = positions
    block = decoder.layers[-1].feed_forward
    s = last.h + last.active @ block.down.weight[:, : block.d_ff].float().t()
    n = last.unit * block.norm
    if block.slots is None:
        return Trace(n, last.bank, s, torch.zeros_like(s))
    return Trace(n, last.bank[..., : len(block.slots.stored_rows)], s, last.bank @ block.slots.values)
