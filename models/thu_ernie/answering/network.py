"""The encoder under the head that answers: dEA at a mask.

Zhang et al. (arXiv:1905.07129), sections 3.4 and 3.5. The mask that stands where the answer would carries the row of
the entity that is asked about, as a token of a corrupted mention does in the pre-training: what the head aligns it with
is the entity that belongs there.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.heads import EntityAlignment, ErnieWithHead
from models.thu_ernie.network import Batch


class AnswerHeads(nn.Module):
    """The heads of `cls.` in the authors' keys that answering needs."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.predictions_ent = EntityAlignment(config)


class ErnieAnswers(ErnieWithHead):
    """The network of the system `thu-ernie`."""

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__(config)
        self.cls = AnswerHeads(config)
        self.cls.apply(self.bert.initialise)

    def query(self, batch: Batch, places: Int[Tensor, " batch"]) -> Float[Tensor, "batch entity"]:
        """Return the vector that the alignment head compares with rows, at one place of each text, by a dot product."""
        states = self.bert(batch).tokens[torch.arange(len(places)), places]
        query: Tensor = self.cls.predictions_ent.transform(states[:, None])
        return query[:, 0]
