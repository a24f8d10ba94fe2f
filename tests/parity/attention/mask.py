"""Compile rules to a mask: who may attend to whom.

L. Zahradnik, Beyond Transformers with PyNeuraLogic, 2023. A pair that no rule of `attend` allows does not exist for the
softmax. Queries and keys are numbered from 0:

    attend(I,J)   <= window(2)             # one rule for all heads
    attend(H,I,J) <= eq(H,0), causal       # or a rule that knows its head
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from models.rules.ground import LIMIT, ROW, Grounder, TooManyBindings
from models.rules.parse import parse
from models.rules.special import Arithmetic
from models.rules.syntax import Program, Rule, RuleError
from tests.parity.attention.check import check_values
from tests.parity.attention.facts import Facts
from tests.parity.attention.macros import expand
from tests.parity.attention.pairs import Axis, Shape, axes_of, every_pair, keep_known_tokens, target

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
