"""How likely an answer is right, from how it was decoded and whom it is about; and when to say nothing instead.

A decoder that has learned its facts by heart is as fluent about names it never met, so token probabilities alone do
not tell a memory from a guess. The subject as the gates read it is compared with the subjects that were taught: how
familiar the nearest one is goes into a logistic model (Platt scaling, 1999) together with the log probabilities. It
is fitted on phrasings the base never saw and on names it does not hold, and measured on others. An answer that an
edit gives is as sure as the gate that opened.
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

    def score(self, logprobs: Sequence[float], familiarity: float) -> float:
        """Calibrated probability that the answer with these token log probabilities is right.

        familiarity: cosine of the question's subject and the nearest one that was taught.
        """
        found = features(logprobs, familiarity)
        return sigmoid(self.bias + sum(w * f for w, f in zip(self.weights, found, strict=True)))

    @staticmethod
    def load(path: Path) -> "Confidence":
        raw = json.loads(path.read_text())
        return Confidence(tuple(raw["weights"]), raw["bias"], raw["threshold"])

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def shares(left: float, likelihoods: Sequence[float]) -> list[float]:
    """What is `left` of certainty, split between alternatives in proportion to their log likelihoods.

    Each by itself would be scored as if no other answer were on the table.
    """
    weights = [math.exp(one) for one in likelihoods]
    total = max(sum(weights), 1e-9)
    return [left * min(1.0, weight / total) for weight in weights]


def features(logprobs: Sequence[float], familiarity: float) -> tuple[float, ...]:
    """Doubt about the first token, the least likely one and the whole answer, and about the subject."""
    doubts = (logprobs[0], min(logprobs), sum(logprobs))
    return *(_surprise(logprob) for logprob in doubts), math.log(max(1 - familiarity, 1e-3))


def _surprise(logprob: float) -> float:
    """log of the odds against, bounded: fine steps near certainty, where answers crowd."""
    doubt = min(max(-math.expm1(logprob), 1e-6), 1 - 1e-6)
    return math.log(doubt / (1 - doubt))


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))
