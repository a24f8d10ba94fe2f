"""Explanations of an answer's beginning: exact parts of the log-odds of its first token, by word read and sense.

Hewitt et al., arXiv:2305.16765, section 3: the output is linear in the senses, so the parts add up to the log-odds.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from models.backpack.network import Backpack, Reading, SenseEdits
from models.backpack.speller import Speller

TOP = 5  # parts that are named with their word


def explain(
    model: Backpack, speller: Speller, prompt: Sequence[int], token: int, edits: SenseEdits | None
) -> dict[str, Any]:
    """Return the log-odds of an answer's first token against the best other one, and their parts."""
    ids = torch.tensor([list(prompt)], device=model.embedding.device)
    reading = model(ids, None, edits)
    logits = model.mask_padding(reading.logits[0, -1])
    best, second = logits.topk(2).indices.tolist()
    rival = second if best == token else best
    parts = attribute(reading, model.embedding[token] - model.embedding[rival])
    words = [speller.read([id]) for id in prompt]
    strongest = parts.flatten().abs().topk(min(TOP, parts.numel())).indices.tolist()
    return {
        "token": speller.read([token]),
        "against": speller.read([rival]),
        "log_odds": float(logits[token] - logits[rival]),
        "words": [{"word": word, "senses": row} for word, row in zip(words, parts.tolist(), strict=True)],
        "strongest": [
            {
                "word": words[place // parts.shape[1]],
                "sense": place % parts.shape[1],
                "part": float(parts.flatten()[place]),
            }
            for place in strongest
        ],
    }


def attribute(
    reading: Reading, direction: Float[Tensor, " width"], row: int = 0, place: int = -1
) -> Float[Tensor, "token sense"]:
    """Return the part of each sense of each word read in the logit of a direction, with nothing approximated.

    The direction is a row of E, or the difference of two for the log-odds between two words.

        logit_v = sum over l and j of alpha[l, t, j] (E_v . C(x_j)_l)
    """
    return reading.alpha[row, :, place].T * (reading.senses[row] @ direction)
