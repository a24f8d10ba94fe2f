"""Find every binding of a rule's variables that satisfies its body: all bindings of a step at once, as columns.

Sourek et al. (arXiv:1508.05128), section 3.2: a rule stands for all its groundings. Relations with facts are joined by
sorting; comparisons and arithmetic filter or compute a column.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from models.rules.facts import Facts
from models.rules.special import ARITHMETIC, NAMES, NUMERIC, has_symbol, holds, solve
from models.rules.syntax import Constant, Literal, Rule, RuleError, Term, Variable

LIMIT = 4_000_000  # largest number of bindings of one step


class TooManyBindings(ValueError):
    """A rule would need more memory than it may take."""


@dataclass(frozen=True, eq=False)
class Bindings:
    """Values of variables, a column of numbers for each; an entry of all columns is one binding."""

    count: int
    columns: Mapping[str, Tensor]

    def select(self, places: Tensor) -> "Bindings":
        """Keep the bindings at these places."""
        return Bindings(len(places), {name: column[places] for name, column in self.columns.items()})

    def bind(self, columns: Mapping[str, Tensor]) -> "Bindings":
        """Add columns."""
        return Bindings(self.count, {**self.columns, **columns})


def ground(rule: Rule, facts: Facts) -> Bindings:
    """Return every way to satisfy the body of a rule that `check` takes.

    RuleError: a variable of a special relation or of the head is bound by no relation, or a comparison of numbers meets
    a symbol. TooManyBindings: some step would have more than LIMIT.
    """
    bindings = Bindings(1, {})
    for step in plan(rule):
        satisfy = _satisfy_special if step.relation in NAMES else _join
        bindings = satisfy(step, bindings, facts)
    return bindings


def plan(rule: Rule) -> list[Literal]:
    """Order the body so that each literal finds its variables bound.

    Filters come as soon as they can be decided, in the order of the text; of the relations that bind variables, those
    that share a bound variable and have most variables come first, for they leave the fewest bindings.
    """
    pending, steps, names = list(rule.body), list[Literal](), set[str]()
    while pending:
        generators = [literal for literal in pending if literal.relation not in NAMES]
        step = next((literal for literal in pending if _is_ready(literal, names)), None)
        step = step or min(generators, key=partial(_cost, names=names), default=pending[0])
        if step.relation in NAMES and not _is_ready(step, names):
            raise _unbound(next(_free(step.terms, names)), step)
        pending.remove(step)
        steps.append(step)
        names |= {variable.name for variable in step.variables}
    for variable in _free(rule.head.terms, names):
        raise _unbound(variable, rule.head)
    return steps


def _cost(literal: Literal, names: set[str]) -> tuple[bool, int]:
    shares = any(variable.name in names for variable in literal.variables)
    return not shares, -len(set(literal.variables))


def _free(terms: Iterable[Term], names: Iterable[str]) -> Iterator[Variable]:
    return (term for term in terms if isinstance(term, Variable) and term.name not in names)


def _is_ready(literal: Literal, names: set[str]) -> bool:
    """Return whether the literal filters, or computes its only unbound term."""
    free = [literal.terms.index(term) for term in _free(literal.terms, names)]
    solvers = ARITHMETIC.get(literal.relation)
    return not free or (solvers is not None and len(free) == 1 and solvers[free[0]] is not None)


def _unbound(variable: Variable, where: Literal) -> RuleError:
    message = f"unbound variable {variable} in {where}: no relation with facts in this body gives it a value"
    return RuleError(message, variable.at)


def _satisfy_special(literal: Literal, bindings: Bindings, facts: Facts) -> Bindings:
    free = list(_free(literal.terms, bindings.columns))
    terms = [_column(term, bindings, facts) for term in literal.terms if term not in free]
    if literal.relation in NUMERIC and any(map(has_symbol, terms)):
        raise RuleError(f"{literal} compares numbers, and one of its terms is a symbol", literal.at)
    if free:
        column = solve(literal.relation, literal.terms.index(free[0]), terms)
        return bindings.bind({free[0].name: column})
    is_true = torch.as_tensor(holds(literal.relation, terms)).expand(bindings.count)
    return bindings.select(is_true.nonzero().flatten())


def _column(term: Term, bindings: Bindings, facts: Facts) -> Tensor:
    """Return the numbers of a bound term, one per binding."""
    if isinstance(term, Variable):
        return bindings.columns[term.name]
    return torch.full((bindings.count,), facts.number(term.value))


def _join(literal: Literal, bindings: Bindings, facts: Facts) -> Bindings:
    rows = _restrict(literal, facts)
    places = {term.name: place for place, term in enumerate(literal.terms) if isinstance(term, Variable)}
    shared = {name: place for name, place in places.items() if name in bindings.columns}
    codes = torch.zeros(len(rows) + bindings.count, dtype=torch.long)
    for name, place in shared.items():  # equal terms have equal codes, in facts and in bindings
        _, ranks = torch.unique(torch.cat([rows[:, place], bindings.columns[name]]), return_inverse=True)
        _, codes = torch.unique(codes * len(codes) + ranks, return_inverse=True)
    codes_in_order, order = codes[: len(rows)].sort()
    first = torch.searchsorted(codes_in_order, codes[len(rows) :])
    counts = torch.searchsorted(codes_in_order, codes[len(rows) :], right=True) - first
    total = int(counts.sum())
    if total > LIMIT:
        raise TooManyBindings(
            f"{literal} at line {literal.at.line} leads to {total:,} bindings, more than {LIMIT:,}; constrain the rule"
        )
    outer = torch.arange(bindings.count).repeat_interleave(counts, output_size=total)
    within = torch.arange(total) - (counts.cumsum(0) - counts)[outer]
    matches = rows[order[first[outer] + within]]
    return bindings.select(outer).bind({name: matches[:, place] for name, place in places.items()})


def _restrict(literal: Literal, facts: Facts) -> Tensor:
    """Return the facts that agree with the constants and the repeated variables of a literal."""
    rows = facts.relations[literal.relation]
    for place, term in enumerate(literal.terms):
        first = literal.terms.index(term)
        value = facts.number(term.value) if isinstance(term, Constant) else rows[:, first]
        rows = rows[rows[:, place] == value]
    return rows
