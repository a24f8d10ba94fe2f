"""Candidate answers in the order in which they fit a question (specs/kbert.md, section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from models.kbert.batch import Batch, collate
from models.kbert.classifier import Classifier
from models.kbert.reader import Reader
from models.kbert.row import Row

FITS = 1  # the class of a pair that belongs together


@dataclass(frozen=True)
class Ranked:
    """place: where the candidate stood in the request. row: what was read, its facts among it."""

    candidate: str
    score: float
    place: int
    row: Row


def scores(model: Classifier, batch: Batch) -> Float[Tensor, " batch"]:
    """The probability of the class FITS for each pair."""
    return torch.softmax(model(batch), -1)[:, FITS]


@torch.inference_mode()
def rank_candidates(
    model: Classifier, reader: Reader, question: str, candidates: Sequence[str]
) -> list[Ranked]:
    """Best first; equal scores in the order of the request. InputRefused when a text is empty."""
    if not candidates:
        return []
    rows = [reader.pair(question, candidate) for candidate in candidates]
    device = next(model.parameters()).device
    given = scores(model, collate(rows, reader.tokens.padding).to(device)).tolist()
    ranked = [Ranked(candidates[place], given[place], place, row) for place, row in enumerate(rows)]
    return sorted(ranked, key=lambda one: (-one.score, one.place))
