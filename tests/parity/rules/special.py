"""Relations that are computed and not looked up: comparisons and arithmetic over the numbers of terms.

The names are PyNeuraLogic's (`R.special`). `sub(A,B,C)`: A - B = C; `add(A,B,C)`: A + B = C; `mod(A,B,C)`: C is the
remainder of A by B; `next(A,B)`: A + 1 = B; `in(X,a,b,...)`: X is one of them; `maxcard(n,...)`: at most n
of them differ. None of them contributes a value.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from models.rules.special import ARITHMETIC, COMPARISONS, VARIADIC

# Numbers that arithmetic may give: all integers with a remainder that is never negative, or, as in PyNeuraLogic, only
# constants of the facts, with Java's remainder, whose sign is that of the first operand.
Arithmetic = Literal["integers", "closed"]


def holds(name: str, terms: Sequence[Tensor], like: Tensor, arithmetic: Arithmetic) -> Tensor:
    """Return for each binding whether the relation holds of its terms.

    Args:
        terms: The numbers of each term, one per binding or one for all.
        like: A tensor of one entry per binding.
        arithmetic: Whose remainder `mod` is.
    """
    if name in COMPARISONS:
        is_true = COMPARISONS[name](*terms)
    elif name in ARITHMETIC:
        is_true = solve(name, len(terms) - 1, terms[:-1], arithmetic) == terms[-1]
    elif name in VARIADIC:
        is_true = _holds_of_many(name, terms, like)
    else:
        is_true = torch.full_like(like, name == "true", dtype=torch.bool)
    return is_true.expand_as(like)


def _holds_of_many(name: str, terms: Sequence[Tensor], like: Tensor) -> Tensor:
    first, *operands = (term.expand_as(like) for term in terms)
    if name == "in":
        return torch.stack([first == other for other in operands]).any(0)
    in_order = torch.stack([first, *operands] if name == "alldiff" else operands).sort(0).values
    n_distinct = 1 + (in_order[1:] != in_order[:-1]).sum(0)
    return n_distinct == len(in_order) if name == "alldiff" else n_distinct <= first


def solve(name: str, place: int, operands: Sequence[Tensor], arithmetic: Arithmetic) -> Tensor:
    """Compute the term at `place` of an arithmetic relation from all operands."""
    solver = ARITHMETIC[name][place]
    assert solver is not None, f"{name} does not compute its term {place}"
    if name == "mod" and arithmetic == "closed":
        solver = torch.fmod
    return solver(*operands)
