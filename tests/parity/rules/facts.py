"""Ground facts as tensors, so that rules are joined with them on any device.

Sourek et al. (arXiv:1508.05128), section 3: an example is a set of ground facts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxtyping import Int
from torch import Tensor

SYMBOL = 1 << 40  # the number of the first symbol; whole numbers stand for themselves, below it


@dataclass(frozen=True, eq=False)
class Relation:
    """The facts of one relation."""

    # The terms of each fact: whole numbers, or SYMBOL plus the place of a symbol in `Facts.symbols`
    terms: Int[Tensor, "fact arity"]

    @property
    def arity(self) -> int:
        """The number of terms of each fact."""
        return self.terms.shape[1]

    def __len__(self) -> int:
        return len(self.terms)


@dataclass(frozen=True, eq=False)
class Facts:
    """All facts of one example; never changed."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    symbols: tuple[str, ...] = ()
