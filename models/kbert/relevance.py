"""K-Query's rank: how well the name of a relation fits a question, whoever the question is about.

The paper takes a word's facts as the graph lists them (Liu et al., K-BERT, section "Knowledge layer"); an entity of a
wide graph has more than a sentence has room for. The question, with X in the place of the mention, and "What is the
<label>?" are read by the frozen MiniLM and seen through one linear map, and the rank is their cosine. A relation that
nobody has trained on is ranked by what its label says.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from models.encoder.minilm import WIDTH, MiniLM
from models.kbert.remembered import Remembered

MENTION = "X"  # of nine stand-ins for the mention the best: 98.1 % of six facts right before any training
REMEMBERED = 16384  # texts whose vectors are kept
BATCH = 64  # texts read at once


class Relevance:
    """Thread-safe. bend: what the linear map adds to the identity."""

    def __init__(self, encoder: MiniLM, bend: Float[Tensor, "width width"] | None = None) -> None:
        self._encoder = encoder
        self._bend = torch.zeros(WIDTH, WIDTH) if bend is None else bend
        self._known = Remembered(self._vectors, REMEMBERED)

    def ranks(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[dict[str, float]]:
        """For each masked question with its labels: label -> rank, in [-1, 1]."""
        texts = [text for question, labels in asked for text in (question, *map(spoken, labels))]
        vectors = self._known.of(texts)
        return [_cosines(vectors, question, labels) for question, labels in asked]

    @torch.inference_mode()
    def _vectors(self, texts: Sequence[str]) -> Float[Tensor, "text width"]:
        parts = [self.plain(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        plain = torch.cat(parts)
        return F.normalize(plain + plain @ self._bend, dim=-1)

    def plain(self, texts: Sequence[str]) -> Float[Tensor, "text width"]:
        """Unit vectors as sentence-transformers makes them: the mean of the last states."""
        read = self._encoder.encode(texts)
        mask = read.mask[..., None].float()
        return F.normalize((read.states * mask).sum(1) / mask.sum(1), dim=-1)


def masked(question: str, start: int, end: int) -> str:
    return f"{question[:start]}{MENTION}{question[end:]}"


def spoken(label: str) -> str:
    """A relation's label as the question that its facts answer."""
    return f"What is the {label}?"


def _cosines(vectors: dict[str, Tensor], question: str, labels: Sequence[str]) -> dict[str, float]:
    """Each label once, so that facts of one relation have one rank to the last bit."""
    distinct = list(dict.fromkeys(labels))
    if not distinct:
        return {}
    cosines = torch.stack([vectors[spoken(label)] for label in distinct]) @ vectors[question]
    return dict(zip(distinct, cosines.tolist(), strict=True))
