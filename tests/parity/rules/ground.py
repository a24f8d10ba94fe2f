"""Find every binding of a rule's variables that satisfies its body: all bindings of a step at once, as columns.

Sourek et al. (arXiv:1508.05128), section 3.2: a rule stands for all its groundings. Relations with facts are joined by
sorting; comparisons and arithmetic filter or compute a column; a relation with rules is solved from the bindings of its
terms.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.rules.special import ARITHMETIC, NAMES, NUMERIC, has_symbol
from models.rules.syntax import Constant, RuleError, Term, Variable
from tests.parity.rules.facts import SYMBOL, Facts, Relation
from tests.parity.rules.special import Arithmetic, holds, solve
from tests.parity.rules.syntax import Literal, Program, Rule

LIMIT = 4_000_000  # largest number of bindings of one step
ROW = "#row"  # the column that leads from the bindings inside a relation back to those outside; no variable is named so


class TooManyBindings(ValueError):
    """A rule would need more memory than it may take."""


@dataclass(frozen=True, eq=False)
class Bindings:
    """Values of variables, a column of numbers for each; an entry of all columns is one binding."""

    count: int
    columns: Mapping[str, Tensor]
    device: torch.device

    def select(self, places: Tensor) -> "Bindings":
        """Keep the bindings at these places, or where a boolean is True."""
        count = int(places.sum()) if places.dtype == torch.bool else len(places)
        if places.dtype == torch.bool and count == self.count:
            return self
        return Bindings(count, {name: column[places] for name, column in self.columns.items()}, self.device)

    def bind(self, columns: Mapping[str, Tensor]) -> "Bindings":
        """Add columns."""
        return Bindings(self.count, {**self.columns, **columns}, self.device)

    @property
    def numbers(self) -> Tensor:
        """The place of each binding."""
        return torch.arange(self.count, device=self.device)


def unbound(variable: Variable, where: Literal) -> RuleError:
    """Make the error of a variable that no relation of the body binds."""
    message = f"unbound variable {variable} in {where}: no relation with facts in this body gives it a value"
    return RuleError(message, variable.at)


def no_variables(device: torch.device) -> Bindings:
    """Make the one binding of no variable, from which a rule is grounded."""
    return Bindings(1, {}, device)


class Grounder:
    """Grounds the rules of one program over the facts of one example.

    Args:
        limit: Largest number of bindings that any step may have.
    """

    def __init__(
        self,
        program: Program,
        facts: Facts,
        arithmetic: Arithmetic = "integers",
        constants: Tensor | None = None,
        limit: int = LIMIT,
    ) -> None:
        self._clauses = program.clauses
        self.relations = dict(facts.relations)
        self._arithmetic, self._limit = arithmetic, limit
        texts = [*facts.symbols, *_symbols(program)]
        self._numbers = {text: SYMBOL + place for place, text in enumerate(dict.fromkeys(texts))}
        self._world = _gather_world(facts, constants) if arithmetic == "closed" else None
        self._plans: dict[tuple[Rule, frozenset[str]], tuple[Literal, ...]] = {}

    @property
    def device(self) -> torch.device:
        """The device of the facts."""
        return next((relation.terms.device for relation in self.relations.values()), torch.device("cpu"))

    def plan(self, rule: Rule, names: frozenset[str]) -> tuple[Literal, ...]:
        """Order the body so that each literal finds its variables bound.

        Filters come as soon as they can be decided, in the order of the text; of the relations that bind variables,
        those that share a bound variable and have most variables come first, for they leave the fewest bindings.

        RuleError: a variable of a special relation or of the head is bound by no relation.
        """
        key = rule, names
        if key not in self._plans:
            self._plans[key] = self._make_plan(rule, names)
        return self._plans[key]

    def _make_plan(self, rule: Rule, names: frozenset[str]) -> tuple[Literal, ...]:
        pending, steps, in_reach = list(rule.body), list[Literal](), set(names)
        while pending:
            step = self._choose(pending, in_reach)
            pending.remove(step)
            steps.append(step)
            in_reach |= {variable.name for variable in step.variables}
        for variable in rule.head.variables:
            if variable.name not in in_reach:
                raise unbound(variable, rule.head)
        return tuple(steps)

    def _choose(self, pending: list[Literal], names: set[str]) -> Literal:
        for literal in pending:
            if _is_ready(literal, names):
                return literal
        generators = [literal for literal in pending if literal.relation not in NAMES]
        if not generators:
            raise unbound(next(v for v in pending[0].variables if v.name not in names), pending[0])

        def cost(literal: Literal) -> tuple[bool, bool, int]:
            shares = any(variable.name in names for variable in literal.variables)
            return literal.relation in self._clauses, not shares, -len(set(literal.variables))

        return min(generators, key=cost)

    def ground(self, rule: Rule, bindings: Bindings) -> Bindings:
        """Extend bindings by every way to satisfy the body of a rule."""
        for step in self.plan(rule, frozenset(bindings.columns)):
            bindings = self.satisfy(step, bindings)
        return bindings

    def satisfy(self, literal: Literal, bindings: Bindings) -> Bindings:
        """Extend bindings by every way to satisfy one literal."""
        if literal.relation in NAMES:
            return self._satisfy_special(literal, bindings)
        if literal.relation in self._clauses:
            return self._satisfy_rules(literal, bindings)
        return self._join(literal, bindings, self.relations[literal.relation])

    def terms_of(self, literal: Literal, bindings: Bindings) -> list[Tensor]:
        """Return the numbers of a literal's terms, all of which are bound."""
        return [self.number_of(term, bindings) for term in literal.terms]

    def number_of(self, term: Term, bindings: Bindings) -> Tensor:
        """Return the numbers of one term: a column, or a single number for a constant."""
        if isinstance(term, Variable):
            return bindings.columns[term.name]
        value = term.value if isinstance(term.value, int) else self._numbers[term.value]
        return torch.tensor(value, device=bindings.device)

    def find(self, literal: Literal, bindings: Bindings) -> Tensor:
        """Return the place of the fact that each binding uses of a literal, all of whose terms are bound."""
        facts = self.relations[literal.relation].terms
        columns = [column.expand(bindings.count) for column in self.terms_of(literal, bindings)]
        fact_codes, codes, _ = encode(list(facts.unbind(1)), columns, len(facts), bindings)
        in_order, order = fact_codes.sort()
        return order[torch.searchsorted(in_order, codes)]

    def _satisfy_special(self, literal: Literal, bindings: Bindings) -> Bindings:
        free = [n for n, term in enumerate(literal.terms) if not _is_bound(term, bindings.columns)]
        terms = [self.number_of(term, bindings) for n, term in enumerate(literal.terms) if n not in free]
        if literal.relation in NUMERIC and any(map(has_symbol, terms)):
            raise RuleError(f"{literal} compares numbers, and one of its terms is a symbol", literal.at)
        if not free:
            return bindings.select(holds(literal.relation, terms, bindings.numbers, self._arithmetic))
        (place,) = free
        column = solve(literal.relation, place, terms, self._arithmetic).expand(bindings.count)
        variable = literal.terms[place]
        assert isinstance(variable, Variable)
        bindings = bindings.bind({variable.name: column})
        return bindings if self._world is None else bindings.select(torch.isin(column, self._world))

    def _satisfy_rules(self, literal: Literal, bindings: Bindings) -> Bindings:
        """Solve a relation with rules, from the bindings of its terms; groundings of one result count once."""
        places, columns = list[Tensor](), list[Tensor]()
        for rule in self._clauses[literal.relation]:
            inner = self.ground(rule, self.enter(literal, rule, bindings))
            places.append(inner.columns[ROW])
            columns.append(stack(self.terms_of(rule.head, inner), inner))
        rows = torch.cat(places)
        if all(_is_bound(term, bindings.columns) for term in literal.terms):
            return bindings.select(
                torch.zeros_like(bindings.numbers, dtype=torch.bool).index_fill_(0, rows, True)
            )
        every_row = torch.cat([rows[:, None], torch.cat(columns)], 1)
        results = Relation(torch.unique(every_row, dim=0))
        with_row = Literal(literal.relation, (Variable(ROW, literal.at), *literal.terms), literal.at)
        matches = self._join(with_row, bindings.bind({ROW: bindings.numbers}), results)
        new = {
            name: column for name, column in matches.columns.items() if name not in {ROW, *bindings.columns}
        }
        return bindings.select(matches.columns[ROW]).bind(new)

    def enter(self, literal: Literal, rule: Rule, bindings: Bindings) -> Bindings:
        """Bind the variables of a rule's head to the terms with which the rule is asked."""
        inner = Bindings(bindings.count, {ROW: bindings.numbers}, bindings.device)
        for outer, term in zip(literal.terms, rule.head.terms, strict=True):
            if not _is_bound(outer, bindings.columns):
                continue
            column = self.number_of(outer, bindings).expand(bindings.count)[inner.columns[ROW]]
            if _is_bound(term, inner.columns):
                inner = inner.select(column == self.number_of(term, inner))
            else:
                inner = inner.bind({str(term): column})
        return inner

    def _join(self, literal: Literal, bindings: Bindings, relation: Relation) -> Bindings:
        facts = self._restrict(literal, relation)
        names = [(place, term.name) for place, term in enumerate(literal.terms) if isinstance(term, Variable)]
        shared = [(place, name) for place, name in names if name in bindings.columns]
        fact_codes, codes, is_known = encode(
            [facts[:, place] for place, _ in shared],
            [bindings.columns[name] for _, name in shared],
            len(facts),
            bindings,
        )
        codes_in_order, order = fact_codes.sort()
        first = torch.searchsorted(codes_in_order, codes)
        counts = (torch.searchsorted(codes_in_order, codes, right=True) - first) * is_known
        total = int(counts.sum())
        if total > self._limit:
            raise TooManyBindings(
                f"{literal} at line {literal.at.line} leads to {total:,} bindings, more than {self._limit:,}; "
                "constrain the rule or raise the limit"
            )
        outer = bindings.numbers.repeat_interleave(counts, output_size=total)
        within = torch.arange(total, device=bindings.device) - (counts.cumsum(0) - counts)[outer]
        fact = order[first[outer] + within]
        new = {name: facts[fact, place] for place, name in names if name not in bindings.columns}
        return bindings.select(outer).bind(new)

    def _restrict(self, literal: Literal, relation: Relation) -> Tensor:
        """Keep the facts that agree with the constants and the repeated variables of a literal."""
        facts, places = relation.terms, dict[str, int]()
        for place, term in enumerate(literal.terms):
            if isinstance(term, Constant):
                value = term.value if isinstance(term.value, int) else self._numbers[term.value]
                facts = facts[facts[:, place] == value]
            elif places.setdefault(term.name, place) != place:
                facts = facts[facts[:, place] == facts[:, places[term.name]]]
        return facts


def encode(
    facts: Sequence[Tensor], columns: Sequence[Tensor], n_facts: int, bindings: Bindings
) -> tuple[Tensor, Tensor, Tensor]:
    """Give rows of equal numbers equal codes.

    Returns:
        The code of each fact, the code of each binding, and whether the binding has a code that some fact has.
    """
    fact_codes = torch.zeros(n_facts, dtype=torch.long, device=bindings.device)
    codes = torch.zeros(bindings.count, dtype=torch.long, device=bindings.device)
    is_known = torch.full((bindings.count,), n_facts > 0, device=bindings.device)
    for fact, column in zip(facts, columns, strict=True) if n_facts else ():
        number, place, rank = _rank(fact, column)
        is_known &= rank >= 0
        pair, pair_of_binding = fact_codes * len(number) + place, codes * len(number) + rank
        _, fact_codes, codes = _rank(pair, pair_of_binding)
        is_known &= codes >= 0
    return fact_codes, codes, is_known


def _rank(fact: Tensor, column: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the different numbers of the facts, the place of each fact's among them and of each binding's, or -1."""
    numbers, place = torch.unique(fact, return_inverse=True)
    rank = torch.searchsorted(numbers, column.contiguous()).clamp_(max=len(numbers) - 1)
    return numbers, place, torch.where(numbers[rank] == column, rank, -1)


def stack(columns: Iterable[Tensor], bindings: Bindings) -> Tensor:
    """Make a row of numbers for each binding."""
    full = [column.expand(bindings.count) for column in columns]
    return torch.stack(full, 1) if full else bindings.numbers.new_empty(bindings.count, 0)


def _is_bound(term: Term, names: Iterable[str]) -> bool:
    return isinstance(term, Constant) or term.name in names


def _is_ready(literal: Literal, names: set[str]) -> bool:
    """Return whether the literal filters, or computes its only unbound term."""
    free = [place for place, term in enumerate(literal.terms) if not _is_bound(term, names)]
    solvers = ARITHMETIC.get(literal.relation)
    return not free or (solvers is not None and len(free) == 1 and solvers[free[0]] is not None)


def _symbols(program: Program) -> Iterable[str]:
    terms = (term for literal in program.literals() for term in literal.terms)
    return (term.value for term in terms if isinstance(term, Constant) and isinstance(term.value, str))


def _gather_world(facts: Facts, constants: Tensor | None) -> Tensor:
    terms = [relation.terms.flatten() for relation in facts.relations.values()]
    world: Tensor = torch.unique(torch.cat([*terms, *([] if constants is None else [constants])]))
    return world
