"""Ground facts as tensors, so that rules are joined with them on any device.

Sourek et al. (arXiv:1508.05128), section 3: an example is a set of ground facts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch
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

    @staticmethod
    def of_terms(terms_by_relation: Mapping[str, Iterable[tuple[int | str, ...]]]) -> "Facts":
        """Gather the terms of the facts of each relation, which has one at least."""
        rows = {name: list(terms) for name, terms in terms_by_relation.items()}
        every_term = (term for facts in rows.values() for terms in facts for term in terms)
        symbols = tuple(sorted({term for term in every_term if isinstance(term, str)}))
        numbers: dict[int | str, int] = {symbol: SYMBOL + place for place, symbol in enumerate(symbols)}
        return Facts(
            {
                name: Relation(torch.tensor([[numbers.get(term, term) for term in terms] for terms in facts]))
                for name, facts in rows.items()
            },
            symbols,
        )

    @property
    def arities(self) -> dict[str, int]:
        """The number of terms of the facts of each relation."""
        return {name: relation.arity for name, relation in self.relations.items()}
