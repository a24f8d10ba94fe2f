"""Methods that look an edit up by its question and repeat its answer: a plain cosine cache, and SERAC's design.

They see sentence vectors alone, u of a question and w of each wording, and answer with the edit that scores highest
if it reaches a threshold; otherwise the base answers. The cache scores by the cosine. SERAC (Mitchell et al.,
arXiv:2206.06520, section 3) has a scope classifier, here on the frozen sentence encoder:

    x = relu(W [u * w; |u - w|] + b),   log-odds = v x + c

Its counterfactual model is taken to be perfect: it repeats the answer of the edit, which can only help it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor

WEIGHTS = Path(__file__).parents[1] / "serac.safetensors"
CANDIDATES = 64  # nearest wordings that SERAC's classifier reads, of all that its design would read


class Lookup(Protocol):
    """A score of pairs, and the score from which an edit answers."""

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float: ...

    def score(
        self, u: Float[Tensor, "question d"], w: Float[Tensor, "wording d"]
    ) -> Float[Tensor, "question wording"]:
        """Return how surely each question asks for each edit."""


@dataclass(frozen=True)
class CosineCache:
    """The nearest wording by cosine, as semantic caches have it."""

    threshold: float
    name: str = "cosine cache"

    def score(self, u: Tensor, w: Tensor) -> Tensor:
        return u @ w.T


@dataclass(frozen=True)
class Serac:
    """The probability of a classifier that was trained beforehand (../serac.py)."""

    threshold: float
    name: str = "serac"

    def score(self, u: Tensor, w: Tensor) -> Tensor:
        near = (u @ w.T).topk(min(CANDIDATES, len(w))).indices
        scores = classify(load_classifier(), u[:, None], w[near]).sigmoid()
        return torch.zeros(len(u), len(w)).scatter(1, near, scores)


def classify(
    weights: Mapping[str, Tensor],
    u: Float[Tensor, "*#pair d"],
    w: Float[Tensor, "*#pair d"],
    dropout: float = 0.0,
) -> Float[Tensor, "*#pair"]:
    """Return the log-odds that two questions ask for one fact; it is symmetric in them."""
    features = torch.cat([u * w, (u - w).abs()], -1)
    hidden = F.dropout(F.linear(features, weights["W"], weights["b"]).relu(), dropout, dropout > 0)
    return hidden @ weights["w"] + weights["c"]


@cache
def load_classifier() -> dict[str, Tensor]:
    """Load the weights of SERAC's classifier once."""
    return {name: value.float() for name, value in load_file(WEIGHTS).items()}
