"""Ground facts as tensors, with which rules are joined.

Sourek et al. (arXiv:1508.05128), section 3: an example is a set of ground facts.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

SYMBOL = 1 << 40  # the number of the first symbol; whole numbers stand for themselves, below it


class Facts:
    """All facts of one example.

    Attributes:
        relations: The terms of the facts of each relation, as numbers: (fact, arity).
    """

    def __init__(
        self, terms: Mapping[str, Iterable[tuple[int | str, ...]]], arities: Mapping[str, int]
    ) -> None:
        """Gather the terms of the facts of each relation."""
        self._symbols: dict[str, int] = {}
        rows = {name: [list(map(self.number, fact)) for fact in facts] for name, facts in terms.items()}
        self.relations: dict[str, Tensor] = {
            name: torch.tensor(rows[name], dtype=torch.long).reshape(-1, arity)
            for name, arity in arities.items()
        }

    def number(self, term: int | str) -> int:
        """Return the number of a term."""
        if isinstance(term, int):
            return term
        return self._symbols.setdefault(term, SYMBOL + len(self._symbols))
