"""Relations that are computed and not looked up: comparisons and arithmetic over the numbers of terms.

The names are PyNeuraLogic's (`R.special`). `sub(A,B,C)`: A - B = C; `add(A,B,C)`: A + B = C; `mod(A,B,C)`: C is the
remainder of A by B, never negative; `next(A,B)`: A + 1 = B; `in(X,a,b,...)`: X is one of them; `maxcard(n,...)`: at
most n of them differ.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from models.rules.facts import SYMBOL

Solver = Callable[..., Tensor]

COMPARISONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "leq": torch.le,
    "lt": torch.lt,
    "geq": torch.ge,
    "gt": torch.gt,
    "neq": torch.ne,
}
# For each term of a relation, its function of the operands; None if it has none.
ARITHMETIC: dict[str, tuple[Solver | None, ...]] = {
    "sub": (lambda b, c: b + c, lambda a, c: a - c, lambda a, b: a - b),
    "add": (lambda b, c: c - b, lambda a, c: c - a, lambda a, b: a + b),
    "eq": (lambda b: b, lambda a: a),
    "next": (lambda b: b - 1, lambda a: a + 1),
    "mod": (None, None, torch.remainder),
}
# Least number of terms of each relation that takes any number of them.
VARIADIC = {"alldiff": 2, "in": 2, "maxcard": 2}
ARITIES = {
    **dict.fromkeys(COMPARISONS, 2),
    **{name: len(solvers) for name, solvers in ARITHMETIC.items()},
    **{"true": 0, "false": 0},
}
NAMES = frozenset(ARITIES) | frozenset(VARIADIC)
NUMERIC = (frozenset(COMPARISONS) | frozenset(ARITHMETIC)) - {"eq", "neq"}  # relations over numbers alone


def holds(name: str, terms: Sequence[Tensor]) -> Tensor | bool:
    """Return for each binding whether the relation holds of its terms, each of which has a number per binding."""
    if name in COMPARISONS:
        return COMPARISONS[name](*terms)
    if name in ARITHMETIC:
        return solve(name, len(terms) - 1, terms[:-1]) == terms[-1]
    if name not in VARIADIC:
        return name == "true"
    first, *operands = terms
    if name == "in":
        return torch.stack([first == other for other in operands]).any(0)
    in_order = torch.stack([first, *operands] if name == "alldiff" else operands).sort(0).values
    n_distinct = 1 + (in_order[1:] != in_order[:-1]).sum(0)
    return n_distinct == len(in_order) if name == "alldiff" else n_distinct <= first


def solve(name: str, place: int, operands: Sequence[Tensor]) -> Tensor:
    """Compute the term at `place` of an arithmetic relation from all operands."""
    solver = ARITHMETIC[name][place]
    assert solver is not None, f"{name} does not compute its term {place}"
    return solver(*operands)


def has_symbol(term: Tensor) -> bool:
    """Return whether any number of a term stands for a symbol."""
    return bool((term >= SYMBOL // 2).any())
