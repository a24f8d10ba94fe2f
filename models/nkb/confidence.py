"""How likely an answer is right, from how it was decoded; and when to say nothing instead.

A logistic model on the log probabilities of the answer's tokens (Platt scaling, 1999), fitted on phrasings the
base never saw and on names it does not hold, and measured on others. An answer that an edit gives is as sure as the
gate that opened.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

UNSURE = "unsure"  # the reason that goes with a declined question


@dataclass(frozen=True)
class Confidence:
    """weights: of the features below, then the bias. threshold: below this score the answer is withheld."""

    weights: tuple[float, ...]
    bias: float
    threshold: float

    def score(self, logprobs: Sequence[float]) -> float:
        """Calibrated probability that the answer with these token log probabilities is right."""
        logit = self.bias + sum(w * f for w, f in zip(self.weights, features(logprobs), strict=True))
        return sigmoid(logit)

    @staticmethod
    def load(path: Path) -> "Confidence":
        raw = json.loads(path.read_text())
        return Confidence(tuple(raw["weights"]), raw["bias"], raw["threshold"])

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def features(logprobs: Sequence[float]) -> tuple[float, ...]:
    """Of the first token, the least likely one, and the whole answer; on a scale where 0 is certainty."""
    return _surprise(logprobs[0]), _surprise(min(logprobs)), _surprise(sum(logprobs))


def _surprise(logprob: float) -> float:
    """log of the odds against, bounded: fine steps near certainty, where answers crowd."""
    doubt = min(max(-math.expm1(logprob), 1e-6), 1 - 1e-6)
    return math.log(doubt / (1 - doubt))


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))
