"""The subject of training that a question is about, by one learned reading of 128 numbers.

Two uses: an answer about a subject that the base never heard of is doubted (`answers.features`), and a question about
a known subject never asks for a fact of another (`models/scope/readings.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.scope.readings import far

MIN_COSINE = 0.9  # cosine from which a question is about the subject; 7,500 held phrasings had no mistake
CHUNK = 1_024  # questions in one product, 30 MB with the world pack


@dataclass(frozen=True)
class Subjects:
    """Attention pooling over a question's states, and the unit readings of the subjects of training (`centres`)."""

    attend: Float[Tensor, "1 width"]
    read: Float[Tensor, "aspect width"]
    centres: Float[Tensor, "subject aspect"]

    @staticmethod
    def from_weights(weights: Mapping[str, Tensor], centres: Float[Tensor, "subject aspect"]) -> "Subjects":
        return Subjects(weights["attend"].to(centres.device), weights["read"].to(centres.device), centres)

    def key(
        self, states: Float[Tensor, "batch token width"], mask: Bool[Tensor, "batch token"]
    ) -> Float[Tensor, "batch aspect"]:
        """Return unit readings of questions."""
        weights = (states @ self.attend.T).masked_fill(~mask[..., None], float("-inf")).softmax(1)
        return F.normalize((weights.transpose(1, 2) @ states).squeeze(1) @ self.read.T, dim=-1)

    def nearest(
        self, keys: Float[Tensor, "batch aspect"]
    ) -> tuple[Float[Tensor, " batch"], Int[Tensor, " batch"]]:
        """Return cosine and place of the subject of training nearest to each question's (`far` of a far one)."""
        parts = [(chunk @ self.centres.T).max(-1) for chunk in torch.split(keys, CHUNK)]
        cosine = torch.cat([part.values for part in parts])
        place = torch.cat([part.indices for part in parts])
        return cosine, torch.where(cosine < MIN_COSINE, far(place), place)
