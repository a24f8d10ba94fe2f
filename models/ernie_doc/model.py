"""The whole reader: a segment and a memory in, states, span logits and the next memory out.

Ding et al. (arXiv:2012.15688). `forward` takes and returns tensors alone, so that it can be exported.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.ernie_doc.attention import Tables
from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.network import Embeddings, Encoder, initialize

HEAD_DROPOUT = 0.1  # rate before the task head, in the authors' code


class Reading(NamedTuple):
    """The output for one segment."""

    states: Float[Tensor, "batch token width"]  # outputs of the last layer, rows of padding included
    pooled: Float[Tensor, "batch width"]  # tanh(W h) of the last position, or the first, where [CLS] is
    memory: Float[Tensor, "layer batch slot width"]  # for the next segment; without a gradient


class ErnieDoc(nn.Module):
    """Embeddings, encoder, pooler and task head under PaddleNLP's names, without its prefix `ernie_doc.`."""

    def __init__(self, config: ErnieDocConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings, self.encoder = Embeddings(config), Encoder(config)
        self.pooler = nn.ModuleDict({"dense": nn.Linear(config.width, config.width)})
        self.dropout = nn.Dropout(HEAD_DROPOUT)
        if config.points:
            self.first, self.last = (nn.Linear(config.width, config.width, bias=False) for _ in range(2))
        else:
            self.linear = nn.Linear(config.width, config.classes or 2)
        self.apply(initialize)
        if config.shares_biases:
            self.encoder.share_biases()

    @property
    def device(self) -> torch.device:
        """Return where the model computes."""
        return next(self.parameters()).device

    def tables(self) -> list[Tables]:
        """Compute the tables that depend on weights alone; a reader passes them to every `forward`."""
        return self.encoder.tables(self.embeddings.rows(), self.embeddings.tasks())

    def forward(
        self,
        ids: Int[Tensor, "batch token"],
        tasks: Int[Tensor, "batch token"],
        mask: Float[Tensor, "batch token"],
        memory: Float[Tensor, "layer batch slot width"],
        tables: Sequence[Tables] | None = None,
    ) -> Reading:
        """Read one segment of each document of a batch; rows are independent.

        Args:
            ids: Token ids, T of them: a shorter segment is padded.
            tasks: Task id of each token.
            mask: 1 for tokens, 0 for padding.
            memory: Memory after the previous segment, `start_memory` for the first; it is not changed.
            tables: From `tables`, if the weights have not changed since.

        Raises:
            ValueError: The segment has another length than the model's.
        """
        if ids.shape[1] != self.config.segment:
            raise ValueError(
                f"a segment of {ids.shape[1]} tokens: this model reads {self.config.segment}, and positions of the "
                "past depend on it; pad the segment"
            )
        tables = self.tables() if tables is None else tables
        states, memory = self.encoder(self.embeddings.words(ids), tasks, mask, memory, tables)
        summary = self.pooler["dense"](states[:, 0 if self.config.pools_first else -1])
        return Reading(states, torch.tanh(summary), memory)

    def class_logits(self, pooled: Float[Tensor, "batch width"]) -> Float[Tensor, "batch label"]:
        """Return the logits of the labels of segments, in float32."""
        logits: Tensor = self.linear(self.dropout(pooled))
        return logits.float()

    def span_logits(
        self, states: Float[Tensor, "batch token width"], mask: Float[Tensor, "batch token"]
    ) -> Float[Tensor, "batch token 2"]:
        """Return the logits of start and end for each token, in float32.

        Args:
            states: Outputs of the last layer.
            mask: 1 for tokens, 0 for padding; where the model points, the token before the last one is [MASK].
        """
        states = self.dropout(states)
        if not self.config.points:
            logits: Tensor = self.linear(states)
            return logits.float()
        questions = states[torch.arange(len(states)), mask.sum(1).long() - 2]
        pairs = [torch.einsum("btw,bw->bt", states, head(questions)) for head in (self.first, self.last)]
        products: Tensor = torch.stack(pairs, -1).float() * self.config.width**-0.5
        return products
