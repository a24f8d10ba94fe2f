"""The head of THU-ERNIE that answers: entity alignment at a mask.

Zhang et al. (arXiv:1905.07129), section 3.4. The other heads of the pre-training are in tests/parity.
The words under which a module stands are the authors' keys.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.encoder.bert import EPSILON
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.network import Batch, Ernie


class Transform(nn.Module):
    """LN(gelu(W x + b)), the layer before a prediction."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, out)
        self.LayerNorm = nn.LayerNorm(out, EPSILON)

    def forward(self, x: Float[Tensor, "batch token width"]) -> Float[Tensor, "batch token out"]:
        """Return LN(gelu(W x + b))."""
        state: Tensor = self.LayerNorm(F.gelu(self.dense(x)))
        return state


class EntityAlignment(nn.Module):
    """dEA: which of some entities a token names, equation 5. No bias and no temperature."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.transform = Transform(config.width, config.entity_size)

    def forward(
        self, x: Float[Tensor, "batch token width"], candidates: Float[Tensor, "candidate entity"]
    ) -> Float[Tensor, "batch token candidate"]:
        """Return the logits of each candidate at each place."""
        logits: Tensor = self.transform(x) @ candidates.T
        return logits


class ErnieWithHead(nn.Module):
    """A network under a head; a checkpoint has it under `bert.`."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = Ernie(config)
        self.dropout = nn.Dropout(config.dropout)


class AnswerHeads(nn.Module):
    """The heads of `cls.` in the authors' keys that answering needs."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.predictions_ent = EntityAlignment(config)


class ErnieAnswers(ErnieWithHead):
    """The network of the system `thu-ernie`.

    The mask that stands where the answer would carries the row of the entity that is asked about, as a token of a
    corrupted mention does in the pre-training: the head aligns it with the entity that belongs there.
    """

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__(config)
        self.cls = AnswerHeads(config)
        self.cls.apply(self.bert.initialise)

    def query(self, batch: Batch, places: Int[Tensor, " batch"]) -> Float[Tensor, "batch entity"]:
        """Return the vector that the alignment head compares with rows, at one place of each text, by a dot product."""
        states = self.bert(batch).tokens[torch.arange(len(places)), places]
        query: Tensor = self.cls.predictions_ent.transform(states[:, None])
        return query[:, 0]
