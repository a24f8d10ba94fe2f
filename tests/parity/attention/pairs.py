"""The pairs that a mask decides about: their number, their bindings, and facts that name no token of the request."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from models.rules.ground import Bindings
from models.rules.special import NAMES
from models.rules.syntax import Literal, Position, Program, RuleError, Variable
from tests.parity.attention.facts import Facts, Relation

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


def keep_known_tokens(
    program: Program, facts: Facts, axes: tuple[Axis, ...], strict: bool
) -> tuple[Facts, int]:
    """Refuse facts about tokens that the request does not have, or drop and count them.

    Raises:
        ValueError: `strict`, and a fact names such a token.
    """
    relations, n_dropped = dict(facts.relations), 0
    for name, place, axis in set(_token_terms(program, RELATION, axes)):
        relation = relations[name]
        column = relation.terms[:, place]
        is_known = (column >= 0) & (column < axis.size)
        if bool(is_known.all()):
            continue
        if strict:
            wrong = int(column[~is_known][0])
            raise ValueError(f"a fact of {name} names {axis.name} {wrong}; there are 0 to {axis.size - 1}")
        n_dropped += int((~is_known).sum())
        relations[name] = _select(relation, is_known)
    return replace(facts, relations=relations) if n_dropped else facts, n_dropped


def _select(relation: Relation, places: Tensor) -> Relation:
    return Relation(relation.terms[places], None if relation.values is None else relation.values[places])


def _token_terms(
    program: Program, name: str, terms: tuple[Axis | None, ...]
) -> Iterator[tuple[str, int, Axis]]:
    """Find each term of a relation with facts that is a head, a query or a key."""
    for rule in program.clauses.get(name, ()):
        axis_by_variable: Mapping[str, Axis] = {
            str(term): axis for term, axis in zip(rule.head.terms, terms, strict=True) if axis is not None
        }
        for literal in rule.body:
            axes = tuple(axis_by_variable.get(str(term)) for term in literal.terms)
            if literal.relation in program.clauses:
                yield from _token_terms(program, literal.relation, axes)
            elif literal.relation not in NAMES:
                yield from (
                    (literal.relation, place, axis) for place, axis in enumerate(axes) if axis is not None
                )
