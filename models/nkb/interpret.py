"""What a bank's rows mean: words its values raise, questions its keys fire on, and their part in an answer.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399), equation 11: a value is read as p = softmax(E v) over
the whole vocabulary, without the final norm and without T5's scale.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.nkb.decode import BankRead, Decoder
from models.nkb.trace import trace


@dataclass(frozen=True)
class Tokens:
    """Most probable tokens, best first."""

    ids: Int[Tensor, "*row k"]
    probabilities: Float[Tensor, "*row k"]


@dataclass(frozen=True)
class Contribution:
    """One slot's part in an answer's first token.

    weight: w'. tokens: what its value raises. logit_change: of that token when the slot is silenced.
    """

    slot: int
    weight: float
    tokens: Tokens
    logit_change: float


def value_tokens(values: Float[Tensor, "*row d"], embedding: Float[Tensor, "token d"], k: int) -> Tokens:
    """The k tokens each value row raises most (eq. 11)."""
    top = torch.softmax(values @ embedding.t(), -1).topk(k, -1)
    return Tokens(top.indices, top.values)


def trigger_questions(weights: Float[Tensor, "question slot"], slot: int, k: int) -> list[tuple[int, float]]:
    """Questions on which a slot fires most: (row, weight), strongest first; none on which it is silent."""
    top = weights[:, slot].topk(min(k, len(weights)))
    pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
    return [(row, weight) for row, weight in pairs if weight > 0]


@torch.no_grad()
def contributions(
    decoder: Decoder,
    states: Float[Tensor, "1 state d"],
    mask: Tensor,
    token: int,
    *,
    read: BankRead | None = None,
    top: int,
    k: int,
) -> list[Contribution]:
    """The `top` slots of the last bank that fire most at the first decode step of one question.

    token: the answer's first token, whose logit is watched. read: value rows that differ from the base. Empty
    when the last layer has no bank or none of its slots fires. A gate at the first step silences the bank.
    """
    slots = decoder.layers[-1].feed_forward.slots
    if slots is None or (read is not None and read.steps is not None and len(read.steps)):
        return []
    first = trace(decoder, states, mask, torch.tensor([[token]], device=states.device))
    weights, x = first.a[0, 0], (first.s + first.ex)[0, 0]
    stored = _changed(slots.stored, read, len(decoder.layers) - 1)
    x = x + weights @ slots.acting(stored - slots.stored)
    order = weights.topk(min(top, len(weights)))
    fired = [
        index
        for index, weight in zip(order.indices.tolist(), order.values.tolist(), strict=True)
        if weight > 0
    ]
    without = x - weights[fired, None] * slots.acting(stored[fired])
    change = decoder.head(without)[:, token] - decoder.head(x)[token]
    raised = value_tokens(slots.acting(stored[fired]), decoder.embedding, k)
    return [_contribution(slot, place, weights, raised, change) for place, slot in enumerate(fired)]


def _contribution(slot: int, place: int, weights: Tensor, raised: Tokens, change: Tensor) -> Contribution:
    tokens = Tokens(raised.ids[place], raised.probabilities[place])
    return Contribution(slot, float(weights[slot]), tokens, float(change[place]))


def _changed(stored: Tensor, read: BankRead | None, layer: int) -> Tensor:
    if read is None or layer not in read.values:
        return stored
    slots, rows = read.values[layer]
    return stored.index_copy(0, slots.to(stored.device), rows.to(stored))
