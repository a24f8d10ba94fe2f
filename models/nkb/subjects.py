"""Which subject of training a question is about, by one learned reading of 128 numbers.

Two uses: an answer about a subject that the base never heard of is doubted (`answers.features`), and two questions
about two known subjects never ask for one fact (`models/scope/candidates.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.scope.readings import UNKNOWN

MIN_COSINE = (
    0.9  # from which on a question is about the subject; of 7,500 held phrasings none was about another
)
CHUNK = 1_024  # questions compared in one product, 30 MB with the world pack


@dataclass(frozen=True)
class Subjects:
    """attend, read: attention pooling over a question's states, and what is read of them. taught: unit readings."""

    attend: Float[Tensor, "1 width"]
    read: Float[Tensor, "aspect width"]
    centres: Float[Tensor, "subject aspect"]

    @staticmethod
    def from_weights(weights: Mapping[str, Tensor], centres: Float[Tensor, "subject aspect"]) -> "Subjects":
        return Subjects(weights["attend"].to(centres.device), weights["read"].to(centres.device), centres)

    def key(
        self, states: Float[Tensor, "batch token width"], mask: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch aspect"]:
        """Unit readings of questions."""
        weights = (states @ self.attend.T).masked_fill(~mask[..., None], float("-inf")).softmax(1)
        return F.normalize((weights.transpose(1, 2) @ states).squeeze(1) @ self.read.T, dim=-1)

    def nearest(
        self, keys: Float[Tensor, "batch aspect"]
    ) -> tuple[Float[Tensor, " batch"], Int[Tensor, " batch"]]:
        """Cosine of each question's subject and the nearest of training; and its place, UNKNOWN where it is far."""
        parts = [(chunk @ self.centres.T).max(-1) for chunk in torch.split(keys, CHUNK)]
        cosine = torch.cat([part.values for part in parts])
        place = torch.cat([part.indices for part in parts])
        return cosine, place.masked_fill_(cosine < MIN_COSINE, UNKNOWN)
