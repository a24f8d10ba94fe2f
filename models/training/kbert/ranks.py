"""Ranks for training: by the final map, or by one that has not seen the relation that is asked for.

With the final map alone every relation of the training would be ranked as one that was trained on, and the pointer
would lean on the rank of a new relation harder than that rank deserves.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from models.kbert.relevance import Relevance, spoken
from models.kbert.remembered import Remembered

REMEMBERED = 1 << 16


class Ranks:
    """maps[0] is the final one; maps[1 + i] has not seen the relations of folds[i]."""

    def __init__(self, relevance: Relevance, maps: Sequence[Tensor], folds: Sequence[set[str]]) -> None:
        self._maps = maps
        self._fold = {relation: 1 + number for number, fold in enumerate(folds) for relation in fold}
        self._plain = Remembered(relevance.plain, REMEMBERED)

    def of(self, asked: Sequence[tuple[str, Sequence[str], str | None]]) -> list[dict[str, float]]:
        """For each masked question, its labels, and the relation that the map must not have seen (None: the final)."""
        plain = self._plain.of(
            text for question, labels, _ in asked for text in (question, *map(spoken, labels))
        )
        return [self._ranks(plain, *one) for one in asked]

    def _ranks(
        self, plain: dict[str, Tensor], question: str, labels: Sequence[str], unseen: str | None
    ) -> dict[str, float]:
        if not labels:
            return {}
        bend = self._maps[0 if unseen is None else self._fold[unseen]]
        vectors = torch.stack([plain[question], *(plain[spoken(label)] for label in labels)])
        bent = F.normalize(vectors + vectors @ bend, dim=-1)
        return dict(zip(labels, (bent[1:] @ bent[0]).tolist(), strict=True))
