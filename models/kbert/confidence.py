"""How likely an answer is right, and below which score nothing is said.

Platt scaling (1999) on what the reading leaves behind: by how much the best option beats no answer and the next one,
and how its relation ranks. Objects, spans of a context and pairs have a scale each. Fitted on phrasings, names and
relations that training never saw, measured on others.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from models.kbert.options import Options

UNSURE, NO_ENTITY, NO_FACT, NO_GRAPH = "unsure", "no_entity", "no_fact", "no_graph"  # why nothing is said
FAR = 12.0  # logits further apart than this are as good as infinitely far


@dataclass(frozen=True)
class Confidence:
    """weights: of the features below, then the bias. threshold: below this score the answer is withheld."""

    weights: tuple[float, ...]
    bias: float
    threshold: float

    def score(self, features: Sequence[float]) -> float:
        """Calibrated probability that the answer is right."""
        return sigmoid(self.bias + sum(w * f for w, f in zip(self.weights, features, strict=True)))

    @staticmethod
    def parse(raw: dict[str, Any]) -> "Confidence":
        return Confidence(tuple(map(float, raw["weights"])), float(raw["bias"]), float(raw["threshold"]))

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def features(read: Options, place: int = 0) -> tuple[float, ...]:
    """Of one option, the best if nothing else is said: its lead over no answer and over the best other one; the rank
    of its relation, and the lead of that over the best other one. A span of a context has no rank."""
    option = read.found[place]
    others = [other for number, other in enumerate(read.found) if number != place]
    second = max((other.logit for other in others), default=read.nothing)
    leads = (_near(option.logit - read.nothing), _near(option.logit - second))
    if option.hung is None:
        return leads
    rank = option.hung.rank
    best = max((other.hung.rank for other in others if other.hung is not None), default=0.0)
    return *leads, rank, rank - best


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))


def _near(lead: float) -> float:
    return max(-FAR, min(FAR, lead))
