"""The two heads of the pre-training: which order the parts of a document had, and which words are masked.

Ding et al. (arXiv:2012.15688), section 3.4. A document is cut into at most 4 parts, which are permuted; the class is
one of 1! + 2! + 3! + 4! = 33, predicted from the pooled output of the last segment alone.
"""

from collections.abc import Sequence
from itertools import permutations
from math import factorial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from models.ernie_doc.config import ErnieDocConfig
from models.ernie_doc.encoder import initialize

MOST_PARTS = 4  # parts of a document, in the paper
N_ORDERS = sum(factorial(parts) for parts in range(1, MOST_PARTS + 1))


def order_class(order: Sequence[int]) -> int:
    """Return the class of a permutation of 1 to 4 parts: fewer parts first, then alphabetically.

    Raises:
        ValueError: The order is no permutation of so many parts.
    """
    if not 1 <= len(order) <= MOST_PARTS or sorted(order) != list(range(len(order))):
        raise ValueError(f"{list(order)} is no order of 1 to {MOST_PARTS} parts, numbered from 0")
    fewer = sum(factorial(parts) for parts in range(1, len(order)))
    return fewer + list(permutations(range(len(order)))).index(tuple(order))


class PretrainingHeads(nn.Module):
    """Segment reordering and masked words; the word table is the model's."""

    def __init__(self, config: ErnieDocConfig) -> None:
        super().__init__()
        self.order = nn.Linear(config.width, N_ORDERS)
        self.transform = nn.Linear(config.width, config.width)
        self.norm = nn.LayerNorm(config.width, config.epsilon)
        self.word_bias = nn.Parameter(torch.zeros(config.vocab))
        self.apply(initialize)

    def order_logits(self, pooled: Float[Tensor, "batch width"]) -> Float[Tensor, "batch order"]:
        """Return the logits of each order, from the pooled output of a document's last segment."""
        logits: Tensor = self.order(pooled)
        return logits.float()

    def word_logits(
        self, states: Float[Tensor, "*batch width"], words: Float[Tensor, "vocab width"]
    ) -> Float[Tensor, "*batch vocab"]:
        """Return the logits of each word for masked positions.

        Args:
            states: Outputs of the last layer there.
            words: The word table of the model, to which this head is tied.
        """
        hidden = self.norm(F.gelu(self.transform(states)))
        return F.linear(hidden, words, self.word_bias).float()
