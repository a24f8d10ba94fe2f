"""Rules with values as a network: facts go in, values of heads come out, and gradients flow to facts and weights.

Sourek et al. (arXiv:1508.05128), section 3, as PyNeuraLogic 0.9 computes: a rule's groundings are combined (SUM),
transformed, aggregated per head (AVG), and multiplied by the head's weight; rules of one head are summed, then
transformed. A head that has no grounding does not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter

import torch
from torch import Tensor, nn

from tests.parity.attention.facts import Facts, Relation
from tests.parity.attention.functions import (
    COMBINATIONS,
    TRANSFORMATIONS,
    aggregate,
    is_valued,
    multiply,
    softmax,
)
from tests.parity.attention.macros import expand
from tests.parity.rules.ground import Bindings, Grounder, no_variables, stack
from tests.parity.rules.parse import parse
from tests.parity.rules.special import Arithmetic
from tests.parity.rules.syntax import IDENTITY, Literal, Program, Rule, Transformation


@dataclass(frozen=True, eq=False)
class Groundings:
    """All groundings of a rule.

    Args:
        bindings: Numbers of its variables; those of symbols are SYMBOL plus their place in the facts' symbols.
        values: The value of each grounding before aggregation; weights, where the aggregation is a softmax.
    """

    rule: Rule
    bindings: Bindings
    values: Tensor


@dataclass(frozen=True, eq=False)
class Outcome:
    """The values of all heads, and their origins.

    Args:
        relations: Each head's terms in ascending order, and its values.
        groundings: Contributions of the rules, in the order of evaluation.
    """

    relations: Mapping[str, Relation]
    groundings: tuple[Groundings, ...]

    def dense(self, name: str, length: int) -> tuple[Tensor, Tensor]:
        """Return the values of name(0), name(1), ... as rows, zero where there is none, and which of them there are."""
        relation = self.relations[name]
        assert relation.values is not None
        places = relation.terms[:, 0]
        rows = relation.values.new_zeros(length, relation.values[0].numel())
        exists = torch.zeros(length, dtype=torch.bool, device=rows.device).index_fill(0, places, True)
        return rows.index_copy(0, places, relation.values.flatten(1)), exists


class RuleModel(nn.Module):
    """A program with its weights.

    Args:
        rules: The text, or a program that was read before.
        weights: Numbers or matrices by name; a parameter without gradients is fixed.
        arithmetic: "closed" computes only numbers that the facts have, as PyNeuraLogic does.
    """

    def __init__(
        self,
        rules: str | Program,
        weights: Mapping[str, Tensor],
        arithmetic: Arithmetic = "integers",
    ) -> None:
        super().__init__()
        program = expand(parse(rules) if isinstance(rules, str) else rules)
        self.program = Program(tuple(dict.fromkeys(program.rules)), program.transformations)
        self.weights = nn.ParameterDict(dict(weights))
        self._arithmetic = arithmetic

    def forward(self, facts: Facts) -> Outcome:
        """Evaluate every head."""
        grounder = Grounder(self.program, facts, self._arithmetic)
        relations, groundings = dict[str, Relation](), list[Groundings]()
        for name in _in_order(self.program):
            rules = self.program.clauses[name]
            instances = [self._instantiate(rule, grounder) for rule in rules]
            relations[name] = self._sum_rules(name, instances, grounder)
            grounder.relations[name] = relations[name]  # it is looked up from now on
            grounder._clauses.pop(name, None)
            groundings += instances
        return Outcome(relations, tuple(groundings))

    def _instantiate(self, rule: Rule, grounder: Grounder) -> Groundings:
        """Ground a rule and compute the value of each grounding."""
        bindings = grounder.ground(rule, no_variables(grounder.device))
        literals = [literal for literal in rule.body if is_valued(literal)]
        values = COMBINATIONS[rule.options.combination](
            [self._value(literal, bindings, grounder) for literal in literals]
        )
        values = _transform(rule.options.transformation, values)
        if rule.options.softmax_over:
            over = rule.options.softmax_over
            row_terms = [variable for variable in rule.head.variables if variable not in over]
            rows, row = _group([bindings.columns[variable.name] for variable in row_terms], bindings)
            values = softmax(values, row, len(rows))
        return Groundings(rule, bindings, values)

    def _value(self, literal: Literal, bindings: Bindings, grounder: Grounder) -> Tensor:
        """Return the weighted value of a literal in each grounding."""
        relation = grounder.relations.get(literal.relation)
        if relation is None or relation.values is None:
            values = torch.ones(bindings.count, 1, 1, dtype=self._dtype(grounder), device=bindings.device)
        else:
            values = relation.values[grounder.find(literal, bindings)]
        values = self._weigh(literal, values)
        return values.mT if literal.is_transposed else values

    def _weigh(self, literal: Literal, values: Tensor) -> Tensor:
        if literal.weight is None:
            return values
        if isinstance(literal.weight, float):
            return literal.weight * values
        weight: Tensor = self.weights[literal.weight]
        return multiply(weight if weight.dim() == 2 else weight.reshape(-1, 1), values)

    def _sum_rules(self, name: str, instances: list[Groundings], grounder: Grounder) -> Relation:
        """Aggregate each rule per head, weigh it, and sum the rules."""
        terms, values = list[Tensor](), list[Tensor]()
        for instance in instances:
            heads, head = _group(grounder.terms_of(instance.rule.head, instance.bindings), instance.bindings)
            order = _order_of(instance)
            kind = "sum" if instance.rule.options.softmax_over else instance.rule.options.aggregation
            terms.append(heads)
            result = aggregate(kind, instance.values[order], head[order], len(heads))
            values.append(self._weigh(instance.rule.head, result))
        heads, head = _unique(torch.cat(terms))
        total = aggregate("sum", torch.cat(values), head, len(heads))
        return Relation(heads, _transform(self.program.transformations.get(name, IDENTITY), total))

    def _dtype(self, grounder: Grounder) -> torch.dtype:
        values = (relation.values for relation in grounder.relations.values() if relation.values is not None)
        return next((value.dtype for value in values), torch.get_default_dtype())


def _transform(transformation: Transformation, values: Tensor) -> Tensor:
    return TRANSFORMATIONS[transformation.name](values, *transformation.arguments)


def _in_order(program: Program) -> list[str]:
    """Return the heads with values, each after those that it depends on; the others only constrain."""
    clauses = program.clauses
    graph = {
        name: [literal.relation for rule in rules for literal in rule.body] for name, rules in clauses.items()
    }
    order = TopologicalSorter(graph).static_order()
    return [name for name in order if name in clauses and _has_values(clauses[name])]


def _has_values(rules: list[Rule]) -> bool:
    return any(is_valued(literal) for rule in rules for literal in rule.body)


def _group(columns: list[Tensor], bindings: Bindings) -> tuple[Tensor, Tensor]:
    """Return the different rows of the columns in ascending order, and the number of each binding's."""
    return _unique(stack(columns, bindings))


def _unique(rows: Tensor) -> tuple[Tensor, Tensor]:
    if rows.shape[1]:
        different, number = torch.unique(rows, dim=0, return_inverse=True)
        return different, number
    return rows[:1], torch.zeros(len(rows), dtype=torch.long, device=rows.device)


def _order_of(instance: Groundings) -> Tensor:
    """Order groundings by the variables of the body that the head lacks, in alphabetical order of their names."""
    bindings, order = instance.bindings, instance.bindings.numbers
    if instance.rule.options.aggregation == "concat":
        variables = {variable.name for literal in instance.rule.body for variable in literal.variables}
        for name in sorted(
            variables - {variable.name for variable in instance.rule.head.variables}, reverse=True
        ):
            order = order[bindings.columns[name][order].argsort(stable=True)]
    return order
