"""The parts of a parsed rule: checks and grounding share one tree and name places in the text.

Sourek et al., Lifted Relational Neural Networks, JAIR 2018 (arXiv:1508.05128), section 3, without weights.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class Position(NamedTuple):
    """Line and column in the text of the rule, both counted from 1."""

    line: int
    column: int


class RuleError(ValueError):
    """A rule that cannot be read, checked or grounded; the message begins with the place in its text."""

    def __init__(self, message: str, at: Position) -> None:
        super().__init__(f"line {at.line}, column {at.column}: {message}")


@dataclass(frozen=True)
class Variable:
    """A term that stands for every number and symbol that satisfies the body."""

    name: str
    at: Position = field(compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Constant:
    """A number, such as the place of an edge, or a symbol, such as the name of an entity."""

    value: int | str
    at: Position = field(compare=False)

    def __str__(self) -> str:
        is_name = isinstance(self.value, int) or (self.value.isidentifier() and not self.value[0].isupper())
        return str(self.value) if is_name else f'"{self.value}"'


Term = Variable | Constant


@dataclass(frozen=True)
class Literal:
    """A relation over terms."""

    relation: str
    terms: tuple[Term, ...]
    at: Position = field(compare=False)

    @property
    def variables(self) -> list[Variable]:
        """The terms that are variables, in order and with repetitions."""
        return [term for term in self.terms if isinstance(term, Variable)]

    def __str__(self) -> str:
        return f"{self.relation}({', '.join(map(str, self.terms))})" if self.terms else self.relation


@dataclass(frozen=True)
class Rule:
    """A head that follows from a body."""

    head: Literal
    body: tuple[Literal, ...]
