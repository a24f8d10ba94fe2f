"""Classes of a text or of a pair: pool, tanh of a linear map, linear map (specs/kbert.md, section 4).

BERT's own pooler, trained before, is not used.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.kbert.batch import Batch
from models.kbert.encoder import Encoder
from models.kbert.pool import Pooling, pool


class Classifier(nn.Module):
    """pool_padding: let padding take part in pooling, as the authors do; for parity."""

    def __init__(self, bert: Encoder, labels: int, pooling: Pooling, pool_padding: bool = False) -> None:
        super().__init__()
        if labels < 2:
            raise ValueError(f"labels: a classifier has two classes or more, not {labels}")
        self.bert = bert
        self.pooling: Pooling = pooling
        self.pool_padding = pool_padding
        self.output_layer_1 = nn.Linear(bert.config.hidden, bert.config.hidden)
        self.output_layer_2 = nn.Linear(bert.config.hidden, labels)

    def forward(self, batch: Batch) -> Float[Tensor, "batch label"]:
        """Logits."""
        pooled = pool(self.bert.read(batch), batch.real, self.pooling, self.pool_padding)
        logits: Tensor = self.output_layer_2(torch.tanh(self.output_layer_1(pooled)))
        return logits

    @staticmethod
    def loss(logits: Float[Tensor, "batch label"], labels: Int[Tensor, " batch"]) -> Float[Tensor, ""]:
        return F.cross_entropy(logits, labels)
