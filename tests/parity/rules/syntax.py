"""The parts of a parsed rule: checks, grounding and evaluation share one tree and name places in the text.

Sourek et al., Lifted Relational Neural Networks, JAIR 2018 (arXiv:1508.05128), section 3: weighted rules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from more_itertools import map_reduce

from models.rules.syntax import Position, Term, Variable


@dataclass(frozen=True)
class Literal:
    """A relation over terms, with the transformation of its value in a body or at a head."""

    relation: str
    terms: tuple[Term, ...]
    at: Position = field(compare=False)
    weight: str | float | None = None
    is_hidden: bool = False
    is_transposed: bool = False

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The terms that are variables, in order and with repetitions."""
        return tuple(term for term in self.terms if isinstance(term, Variable))

    def __str__(self) -> str:
        terms = ", ".join(map(str, self.terms))
        weight = "" if self.weight is None else f"[{self.weight}]"
        hidden = "hidden." if self.is_hidden else ""
        return f"{hidden}{self.relation}{f'({terms})' if terms else ''}{weight}{'.T' * self.is_transposed}"


@dataclass(frozen=True)
class Transformation:
    """A function of one value by its name.

    Args:
        arguments: First row and the row after the last, of `slice`.
    """

    name: str
    arguments: tuple[int, ...] = ()
    is_network: bool = False


IDENTITY = Transformation("identity")


@dataclass(frozen=True)
class Options:
    """The computation of a rule's values: they are combined per grounding, transformed, then aggregated per head.

    Args:
        softmax_over: The variables that a softmax normalises over; empty for every other aggregation.
    """

    combination: str = "sum"
    transformation: Transformation = IDENTITY
    aggregation: str = "avg"
    softmax_over: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A head, whose value or truth follows from a body."""

    head: Literal
    body: tuple[Literal, ...]
    options: Options = Options()

    @property
    def at(self) -> Position:
        """The place of the rule in the text."""
        return self.head.at

    def __str__(self) -> str:
        return f"{self.head} <= {', '.join(map(str, self.body))}"


@dataclass(frozen=True)
class Declaration:
    """Transformation of the value of a head after its rules are summed."""

    relation: str
    arity: int
    transformation: Transformation
    at: Position = field(compare=False)


@dataclass(frozen=True)
class Program:
    """Rules in the order of their text."""

    rules: tuple[Rule, ...]
    transformations: Mapping[str, Transformation] = field(default_factory=dict)

    @property
    def clauses(self) -> dict[str, list[Rule]]:
        """The rules of each head relation."""
        return map_reduce(self.rules, lambda rule: rule.head.relation)

    def literals(self) -> Iterator[Literal]:
        """Give every head and every literal of a body."""
        for rule in self.rules:
            yield rule.head
            yield from rule.body
