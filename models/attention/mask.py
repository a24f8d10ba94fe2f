"""Compile rules to a mask: who may attend to whom, in the forms that attention takes, with the rule behind each pair.

L. Zahradnik, Beyond Transformers with PyNeuraLogic, 2023. A pair that no rule of `attend` allows does not exist for the
softmax. Queries and keys are numbered from 0:

    attend(I,J)   <= window(2)             # one rule for all heads
    attend(H,I,J) <= eq(H,0), causal       # or a rule that knows its head
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal as Choice

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from models.attention.explain import Explanation, explain
from models.attention.pairs import Axis, Shape, axes_of, every_pair, keep_known_tokens, target
from models.attention.rules.check import check
from models.attention.rules.facts import Facts
from models.attention.rules.ground import LIMIT, ROW, Grounder, TooManyBindings
from models.attention.rules.macros import expand
from models.attention.rules.parse import parse
from models.attention.rules.special import Arithmetic
from models.attention.rules.syntax import Program, Rule, RuleError

UER_BIAS = (
    -10000.0
)  # addition of K-BERT's authors to a forbidden score; a row without keys then averages all of them
CPU = torch.device("cpu")
NO_FACTS = Facts()


@dataclass(frozen=True, eq=False)
class Rows:
    """The allowed pairs of all heads in the compressed rows of one sparse matrix, a block on its diagonal for each.

    Args:
        starts: The first pair of each query, and last the number of pairs.
        queries: The query of each pair, counted on through the heads.
        keys: The key of each pair, counted on through the heads.
    """

    starts: Int[Tensor, " query_and_end"]
    queries: Int[Tensor, " pair"]
    keys: Int[Tensor, " pair"]

    @staticmethod
    def of(allowed: Bool[Tensor, "head query key"]) -> "Rows":
        """Compress masks."""
        _, n_queries, n_keys = allowed.shape
        head, query, key = allowed.nonzero(as_tuple=True)
        starts = F.pad(allowed.sum(-1).flatten().cumsum(0), (1, 0))
        return Rows(starts, head * n_queries + query, head * n_keys + key)

    def repeat(self, times: int, n_keys: int) -> "Rows":
        """Put the same blocks on the diagonal several times; `n_keys` counts the keys of all of them together."""
        number = torch.arange(times, device=self.keys.device)[:, None]
        n_queries, n_pairs = len(self.starts) - 1, len(self.keys)
        starts = F.pad((number * n_pairs + self.starts[1:]).flatten(), (1, 0))
        queries, keys = number * n_queries + self.queries, number * n_keys + self.keys
        return Rows(starts, queries.flatten(), keys.flatten())


@dataclass(frozen=True, eq=False)
class Mask:
    """Compiled rules; every form of the mask is made once.

    Args:
        allowed: True where the query may attend to the key; a head axis only where the rules speak of heads.
        source: The place in `rules` of the first rule that allows a pair, -1 if none does.
        n_dropped: How many facts named tokens that the request lacks.
    """

    allowed: Bool[Tensor, "*head query key"]
    source: Int[Tensor, "*head query key"]
    rules: tuple[Rule, ...]
    warnings: tuple[str, ...]
    n_dropped: int
    _program: Program
    _grounder: Grounder
    _axes: tuple[Axis, ...]
    _rows_by_count: dict[int, Rows] = field(default_factory=dict)

    @cached_property
    def pairs(self) -> Int[Tensor, "pair axes"]:
        """The allowed pairs in order: (head,) query, key."""
        return self.allowed.nonzero()

    @property
    def density(self) -> float:
        """The share of all pairs that is allowed."""
        return len(self.pairs) / self.allowed.numel()

    @cached_property
    def empty_rows(self) -> Int[Tensor, "row axes"]:
        """The queries that may attend to nothing: (head,) query."""
        return (~self.allowed.any(-1)).nonzero()

    def rows(self, count: int) -> Rows:
        """Return the pairs of `count` attention maps in compressed rows; masks of heads alternate among them."""
        if count not in self._rows_by_count:
            allowed = self.allowed if self.allowed.dim() == 3 else self.allowed[None]
            times, n_keys = count // len(allowed), len(allowed) * allowed.shape[-1]
            self._rows_by_count[count] = Rows.of(allowed).repeat(times, n_keys)
        return self._rows_by_count[count]

    def additive(
        self, style: Choice["inf", "uer"], dtype: torch.dtype = torch.float32
    ) -> Float[Tensor, "*head query key"]:
        """Return the addition to scores: 0 for an allowed pair, otherwise minus infinity or UER_BIAS."""
        bias = torch.zeros(self.allowed.shape, dtype=dtype, device=self.allowed.device)
        return bias.masked_fill_(~self.allowed, -torch.inf if style == "inf" else UER_BIAS)

    def explain(self, query: int, key: int, head: int | None = None) -> Explanation:
        """Name the rule that allows a pair, or the first constraint of each rule that forbids it.

        Raises:
            ValueError: The pair does not exist, or the rules speak of heads and no head is named.
        """
        places = (query, key) if len(self._axes) == 2 else (head, query, key)
        for axis, place in zip(self._axes, places, strict=True):
            if place is None or not 0 <= place < axis.size:
                raise ValueError(f"{axis.name} {place} does not exist; there are 0 to {axis.size - 1}")
        device = self.allowed.device
        single = every_pair(tuple(Axis(axis.name, 1) for axis in self._axes), device).bind(
            {
                axis.name: torch.tensor([place], device=device)
                for axis, place in zip(self._axes, places, strict=True)
            }
        )
        return explain(self._grounder, self._program, target(self._axes), single)


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
    warnings = check(program, facts)
    axes = axes_of(program, shape)
    if shape.pairs > limit:
        raise TooManyBindings(f"{shape.axes} are {shape.pairs:,} pairs, more than {limit:,}")
    facts, n_dropped = keep_known_tokens(program, facts.to(device), axes, strict)
    constants = torch.arange(max(axis.size for axis in axes), device=device)
    grounder = Grounder(program, facts, arithmetic, constants, limit)
    source = _find_sources(program, grounder, axes, device)
    clauses = tuple(program.clauses[target(axes).relation])
    mask = Mask(source >= 0, source, clauses, warnings, n_dropped, program, grounder, axes)
    if not len(mask.pairs):
        raise _describe_emptiness(mask, device)
    return mask


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


def _describe_emptiness(mask: Mask, device: torch.device) -> RuleError:
    refused = explain(mask._grounder, mask._program, target(mask._axes), every_pair(mask._axes, device))
    reasons = "; ".join(
        f"line {refusal.rule.at.line}: {refusal} for every pair" for refusal in refused.refusals
    )
    return RuleError(f"the rules allow no pair at all: {reasons}", mask.rules[0].at)
