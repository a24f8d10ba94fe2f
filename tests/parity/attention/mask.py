"""The pairs that a mask decides about, and masks that are compiled from rules."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.rules.syntax import Position, RuleError, Variable
from tests.parity.attention.facts import Facts
from tests.parity.attention.macros import expand
from tests.parity.rules.ground import ROW, Bindings, Grounder
from tests.parity.rules.parse import parse
from tests.parity.rules.special import Arithmetic
from tests.parity.rules.syntax import Literal, Program, Rule

RELATION = "attend"  # the relation whose rules are the mask


@dataclass(frozen=True)
class Shape:
    """Sizes of a mask.

    Args:
        queries: How many tokens ask.
        keys: How many tokens, or states of a memory, are attended to.
        heads: None for one mask of all heads.
    """

    queries: int
    keys: int
    heads: int | None = None

    def __post_init__(self) -> None:
        """Refuse a shape without pairs."""
        if min(self.axes) < 1:
            raise ValueError(f"a mask needs a query, a key and a head at least, not {self.axes}")

    @staticmethod
    def square(length: int, heads: int | None = None) -> "Shape":
        """Make the shape of tokens that attend to each other."""
        return Shape(length, length, heads)

    @property
    def axes(self) -> tuple[int, ...]:
        """Sizes of head (if there are any), query and key."""
        heads = () if self.heads is None else (self.heads,)
        return (*heads, self.queries, self.keys)

    @property
    def pairs(self) -> int:
        """The number of pairs of a query and a key, over all heads."""
        return self.queries * self.keys * (self.heads or 1)


@dataclass(frozen=True)
class Axis:
    """An axis of a mask: the names of its places, and their number."""

    name: str
    size: int


def axes_of(program: Program, shape: Shape) -> tuple[Axis, ...]:
    """Return the axes that the terms of `attend` run over.

    Raises:
        RuleError: There is no rule of `attend`, or it speaks of heads and the shape has none.
    """
    query_and_key = (Axis("query", shape.queries), Axis("key", shape.keys))
    rules = program.clauses.get(RELATION)
    if not rules:
        raise RuleError(f"no rule has the head {RELATION}(I,J)", Position(1, 1))
    arity = len(rules[0].head.terms)
    if arity == 2:
        return query_and_key
    if arity != 3 or shape.heads is None:
        expected = "(I,J)" if shape.heads is None else "(I,J) or (H,I,J)"
        raise RuleError(f"write {RELATION}{expected}, not {rules[0].head}", rules[0].at)
    return (Axis("head", shape.heads), *query_and_key)


def target(axes: tuple[Axis, ...]) -> Literal:
    """Make the literal that a mask asks of its rules."""
    nowhere = Position(1, 1)
    return Literal(RELATION, tuple(Variable(axis.name, nowhere) for axis in axes), nowhere)


def every_pair(axes: tuple[Axis, ...], device: torch.device) -> Bindings:
    """Bind head, query and key to all their places, in the order of a mask's entries."""
    places = torch.cartesian_prod(*(torch.arange(axis.size, device=device) for axis in axes))
    columns = {axis.name: column.contiguous() for axis, column in zip(axes, places.unbind(1), strict=True)}
    return Bindings(len(places), columns, device)


CPU = torch.device("cpu")
NO_FACTS = Facts()


@dataclass(frozen=True, eq=False)
class Mask:
    """Compiled rules.

    Attributes:
        allowed: True where the query may attend to the key; a head axis only where the rules speak of heads.
        source: The place in `rules` of the first rule that allows a pair, -1 if none does.
    """

    allowed: Bool[Tensor, "*head query key"]
    source: Int[Tensor, "*head query key"]
    rules: tuple[Rule, ...]

    @property
    def empty_rows(self) -> Int[Tensor, "row axes"]:
        """Return the queries that may attend to nothing: (head,) query."""
        return (~self.allowed.any(-1)).nonzero()


def compile_mask(
    rules: str, shape: Shape, facts: Facts = NO_FACTS, arithmetic: Arithmetic = "integers"
) -> Mask:
    """Compile the rules of `attend`.

    Args:
        arithmetic: "closed" computes only numbers that the facts or the tokens have, as PyNeuraLogic does.
    """
    program = expand(parse(rules))
    axes = axes_of(program, shape)
    grounder = Grounder(program, facts, arithmetic, torch.arange(max(axis.size for axis in axes)))
    source = _find_sources(program, grounder, axes, CPU)
    return Mask(source >= 0, source, tuple(program.clauses[target(axes).relation]))


def _find_sources(
    program: Program, grounder: Grounder, axes: tuple[Axis, ...], device: torch.device
) -> Int[Tensor, "*head query key"]:
    """Return the place of the first rule that allows each pair, or -1."""
    every, literal = every_pair(axes, device), target(axes)
    source = torch.full((every.count,), -1, dtype=torch.long, device=device)
    clauses = program.clauses[literal.relation]
    for place, rule in reversed(list(enumerate(clauses))):
        source[grounder.ground(rule, grounder.enter(literal, rule, every)).columns[ROW]] = place
    return source.view([axis.size for axis in axes])
