"""The pairs that a mask decides about, and masks that are compiled from rules."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.rules.ground import LIMIT, ROW, Bindings, Grounder, TooManyBindings
from models.rules.parse import parse
from models.rules.special import NAMES, Arithmetic
from models.rules.syntax import Literal, Position, Program, Rule, RuleError, Variable
from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.functions import check_values
from tests.parity.attention.macros import expand

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


CPU = torch.device("cpu")
NO_FACTS = Facts()


@dataclass(frozen=True, eq=False)
class Mask:
    """Compiled rules.

    Attributes:
        allowed: True where the query may attend to the key; a head axis only where the rules speak of heads.
        source: The place in `rules` of the first rule that allows a pair, -1 if none does.
        n_dropped: How many facts named tokens that the request lacks.
    """

    allowed: Bool[Tensor, "*head query key"]
    source: Int[Tensor, "*head query key"]
    rules: tuple[Rule, ...]
    warnings: tuple[str, ...]
    n_dropped: int

    @property
    def empty_rows(self) -> Int[Tensor, "row axes"]:
        """Return the queries that may attend to nothing: (head,) query."""
        return (~self.allowed.any(-1)).nonzero()


def compile_mask(
    rules: str | Program,
    shape: Shape,
    facts: Facts = NO_FACTS,
    arithmetic: Arithmetic = "integers",
    strict: bool = True,
    limit: int = LIMIT,
    device: torch.device = CPU,
) -> Mask:
    """Compile the rules of `attend`.

    Args:
        rules: The text, or a program that was read before.
        shape: Numbers of queries, keys and heads.
        facts: Facts that the rules are joined with.
        arithmetic: "closed" computes only numbers that the facts or the tokens have, as PyNeuraLogic does.
        strict: Refuse facts about tokens that the request lacks, and do not drop them.
        limit: Largest number of bindings of any step; refused before they are allocated.
        device: Where the mask is made; facts are copied there.

    Raises:
        RuleError: The rules cannot be read or checked, or allow no pair at all.
        TooManyBindings: The pairs, or a join of facts, exceed the limit.
        ValueError: A fact names a token that the request lacks.
    """
    program = expand(parse(rules) if isinstance(rules, str) else rules)
    warnings = check_values(program, facts)
    axes = axes_of(program, shape)
    if shape.pairs > limit:
        raise TooManyBindings(f"{shape.axes} are {shape.pairs:,} pairs, more than {limit:,}")
    facts, n_dropped = keep_known_tokens(program, facts.to(device), axes, strict)
    constants = torch.arange(max(axis.size for axis in axes), device=device)
    grounder = Grounder(program, facts, arithmetic, constants, limit)
    source = _find_sources(program, grounder, axes, device)
    clauses = tuple(program.clauses[target(axes).relation])
    if not bool((source >= 0).any()):
        raise RuleError("the rules allow no pair at all", clauses[0].at)
    return Mask(source >= 0, source, clauses, warnings, n_dropped)


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
