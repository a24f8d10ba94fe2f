"""The meaning of a bank's rows: words that values raise, questions that keys fire on, and their part in an answer.

Dai et al., Neural Knowledge Bank (arXiv:2208.00399), equation 11: a value is read as p = softmax(E v) over
the whole vocabulary, without the final norm and without T5's scale. `explain` does so for one answer.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from models.kit.decoded import DecodedAnswer
from models.nkb.decode import Decoder
from models.nkb.overlay import Overlay
from models.nkb.reader import END, Read, Reader
from models.nkb.trace import trace
from models.scope.active import Match

TOP, WORDS = 5, 3  # slots in an explanation, and words of each


@dataclass(frozen=True)
class Contribution:
    """One slot's part in an answer's first token."""

    slot: int  # its number
    weight: float  # its weight w'
    tokens: tuple[int, ...]  # tokens that its value raises, the most probable first
    logit_change: float  # change of the first token's logit when the slot is silenced


def value_tokens(
    values: Float[Tensor, "*row d"], embedding: Float[Tensor, "token d"], k: int
) -> tuple[Float[Tensor, "*row k"], Int[Tensor, "*row k"]]:
    """Return the k tokens that each value row raises most (eq. 11): their probabilities, highest first, and ids."""
    probabilities, ids = torch.softmax(values @ embedding.t(), -1).topk(k, -1)
    return probabilities, ids


@torch.no_grad()
def contributions(
    decoder: Decoder,
    states: Float[Tensor, "1 state d"],
    mask: Tensor,
    token: int,
    *,
    overlay: Overlay | None = None,
    top: int,
    k: int,
) -> list[Contribution]:
    """Find the slots of the last bank that fire most at the first decode step of one question.

    Args:
        mask: True at real states.
        overlay: Value rows that differ from the base. A gate at the first step silences the bank.

    Returns:
        Most active first; empty when the last layer has no bank or none of its slots fires.
    """
    slots = decoder.layers[-1].feed_forward.slots
    if slots is None or (overlay is not None and overlay.steps is not None and len(overlay.steps)):
        return []
    first = trace(decoder, states, mask, torch.tensor([[token]], device=states.device))
    weights, x = first.a[0, 0], (first.s + first.ex)[0, 0]
    stored_rows, layer = slots.stored_rows, len(decoder.layers) - 1
    if overlay is not None and layer in overlay.values:
        places, rows = overlay.values[layer]
        stored_rows = stored_rows.index_copy(0, places.to(stored_rows.device), rows.to(stored_rows))
    x = x + weights @ slots.acting(stored_rows - slots.stored_rows)
    order = weights.topk(min(top, len(weights)))
    active = [slot for slot, w in zip(order.indices.tolist(), order.values.tolist(), strict=True) if w > 0]
    without = x - weights[active, None] * slots.acting(stored_rows[active])
    change = decoder.head(without)[:, token] - decoder.head(x)[token]
    _, ids = value_tokens(slots.acting(stored_rows[active]), decoder.embedding, k)
    return [
        Contribution(slot, float(weights[slot]), tuple(ids[place].tolist()), float(change[place]))
        for place, slot in enumerate(active)
    ]


def explain(
    reader: Reader, read: Read, row: int, overlay: Overlay, source: Match | DecodedAnswer
) -> dict[str, Any]:
    """Explain an answer by the gate that opened and what its rows spell, or by the bank's slots and their words."""
    rows, decoder = slice(row, row + 1), reader.decoder
    if isinstance(source, Match):
        limit = 0 if overlay.steps is None else len(overlay.steps)
        (answer,) = decoder.generate(read.states[rows], read.mask[rows], overlays=[overlay], max_tokens=limit)
        spelling = [
            {"token": reader.say([token]), "probability": round(math.exp(logprob), 4)}
            for token, logprob in zip(answer.tokens, answer.logprobs, strict=False)
        ]
        match = {"open": True, "edit": source.edit, "probability": round(source.probability, 4)}
        return {"gate": match, "spelling": spelling, "slots": []}
    token = source.tokens[0] if source.tokens else END
    slots = contributions(
        decoder, read.states[rows], read.mask[rows], token, overlay=overlay, top=TOP, k=WORDS
    )
    return {
        "gate": {"open": False},
        "slots": [
            {
                "slot": slot.slot,
                "weight": round(slot.weight, 4),
                "words": [reader.say([token]) for token in slot.tokens],
                "logit_change_without": round(slot.logit_change, 4),
            }
            for slot in slots
        ],
    }
