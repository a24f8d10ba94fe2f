"""Facts with values, which carry gradients, and their text.

Sourek et al. (arXiv:1508.05128), section 3: an example is a set of ground facts with values; without one, the value 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from tests.parity.rules import facts as ground


@dataclass(frozen=True, eq=False)
class Relation(ground.Relation):
    """The facts of one relation."""

    # A matrix for each fact, a vector being one column; None where every value is 1
    values: Float[Tensor, "fact rows columns"] | None = None

    @staticmethod
    def of_vectors(vectors: Float[Tensor, "token size"]) -> "Relation":
        """Make the facts name(0), name(1), ... with one vector each."""
        return Relation(torch.arange(len(vectors), device=vectors.device)[:, None], vectors[..., None])

    @staticmethod
    def nullary(value: float | Tensor, dtype: torch.dtype = torch.float32) -> "Relation":
        """Make the only fact of a relation without terms, such as the scale of scores."""
        matrix = torch.as_tensor(value, dtype=dtype).reshape(1, 1, 1)
        return Relation(torch.zeros(1, 0, dtype=torch.long, device=matrix.device), matrix)


@dataclass(frozen=True, eq=False)
class Facts(ground.Facts):
    """All facts of one example; never changed.

    ValueError: a value is not finite, or a fact stands twice with different values.
    """

    relations: Mapping[str, Relation] = field(default_factory=dict)
