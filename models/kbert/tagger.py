"""A tag for each token (specs/kbert.md, section 4).

Labels are numbered [PAD], [ENT] for injected tokens, then the tags in order of appearance. The loss leaves out
[PAD] only: injected tokens are trained on, to be called [ENT].
"""

from collections.abc import Sequence

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.kbert.batch import Batch
from models.kbert.encoder import Encoder
from models.kbert.row import Row

PAD_LABEL, ENT_LABEL = 0, 1
FIRST_TAG = 2
TINY = 1e-6  # the authors' guard against a batch without labels


class Tagger(nn.Module):
    """labels: with [PAD] and [ENT]."""

    def __init__(self, bert: Encoder, labels: int) -> None:
        super().__init__()
        if labels <= FIRST_TAG:
            raise ValueError(f"labels: [PAD], [ENT] and at least one tag, not {labels}")
        self.bert = bert
        self.output_layer = nn.Linear(bert.config.hidden, labels)

    def forward(self, batch: Batch) -> Float[Tensor, "batch token label"]:
        """Logits."""
        logits: Tensor = self.output_layer(self.bert.read(batch))
        return logits

    @staticmethod
    def loss(
        logits: Float[Tensor, "batch token label"], labels: Int[Tensor, "batch token"]
    ) -> Float[Tensor, ""]:
        """Mean over tokens whose label is not [PAD]."""
        each = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
        counted = labels > PAD_LABEL
        return (each * counted).sum() / (counted.sum() + TINY)


def token_labels(row: Row, labels: Sequence[int]) -> list[int]:
    """From one label for each character of the text to one for each token; injected tokens get [ENT].

    A token takes the label of its first character, so whitespace in the text shifts nothing.
    """
    if len(labels) != len(row.texts[0]):
        raise ValueError(f"{len(labels)} labels for a text of {len(row.texts[0])} characters")
    return [ENT_LABEL if token.injected else labels[token.start] for token in row.tokens]
