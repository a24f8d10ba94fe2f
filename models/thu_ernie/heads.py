"""The head of THU-ERNIE that answers: entity alignment at a mask.

Zhang et al. (arXiv:1905.07129), section 3.4. The other heads of the pre-training are in tests/parity.
The words under which a module stands are the authors' keys.
"""

from collections import OrderedDict

import torch
from jaxtyping import Float
from torch import Tensor, nn

from models.encoder.bert import EPSILON
from models.thu_ernie.config import ErnieConfig
from models.thu_ernie.network import Batch, Ernie


def transform(width: int, out: int) -> nn.Sequential:
    """Return LN(gelu(W x + b)), the layer before a prediction."""
    norm = nn.LayerNorm(out, EPSILON)
    return nn.Sequential(OrderedDict(dense=nn.Linear(width, out), gelu=nn.GELU(), LayerNorm=norm))


class ErnieAnswers(nn.Module):
    """The network of the system `thu-ernie`: dEA, which of some entities a token names, equation 5.

    The mask that stands where the answer would carries the row of the entity that is asked about, as a token of a
    corrupted mention does in the pre-training: the head aligns it with the entity that belongs there, without a bias
    and without a temperature.
    """

    def __init__(self, config: ErnieConfig) -> None:
        super().__init__()
        self.config, self.bert = config, Ernie(config)
        alignment = nn.ModuleDict({"transform": transform(config.width, config.entity_size)})
        self.cls = nn.ModuleDict({"predictions_ent": alignment})
        self.cls.apply(self.bert.initialise)

    def query(self, batch: Batch) -> Float[Tensor, "batch entity"]:
        """Return the vector of each mask, the last token but one, which is compared with rows by a dot product."""
        places = batch.is_real.sum(1) - 2
        states = self.bert(batch)[torch.arange(len(places)), places]
        query: Tensor = self.get_submodule("cls.predictions_ent.transform")(states[:, None])
        return query[:, 0]
