"""One rule of a curator about walks, in the language of models/attention: what it may say, and what it comes to.

    forbid(E) <= hidden.relation(E,"spouse")                    # edge E may not be walked
    require(E) <= hidden.relation(E,R), neq(R,"spouse")         # only edges that fit may be walked
    infer(I,"grandparent",J) <= hidden.edge(A,I,K), hidden.relation(A,"parent"),
                                hidden.edge(B,K,J), hidden.relation(B,"parent")    # there is such an edge, too

The facts that a body may name are those of constraints.py. A rule is one line (the last one here is wrapped). It is
text that a grammar reads; it is never run.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast, get_args

import torch

from models.attention.rules.check import check
from models.attention.rules.facts import Facts
from models.attention.rules.ground import Grounder, no_variables
from models.attention.rules.macros import expand
from models.attention.rules.parse import parse
from models.attention.rules.syntax import Constant, Program, Rule, RuleError, Variable
from models.graph.knowledge import Fact
from models.relational.constraints import facts_of
from models.relational.subgraph import Edge, Node, Subgraph

Act = Literal["forbid", "require", "infer"]
ACTS: tuple[Act, ...] = get_args(Act)
HEADS = 'forbid(E), require(E) or infer(I,"relation",J)'
# The smallest graph that has every fact a rule may name; a rule is tried on it before it is taken.
SMALLEST = Subgraph((Node("a", "A"), Node("b", "B")), (Edge(0, 1, Fact("r", "r", "B", "b")),), {"a": 0})


@dataclass(frozen=True)
class WalkRule:
    """A rule that was read.

    Attributes:
        text: The rule as the curator wrote it.
    """

    text: str

    @cached_property
    def program(self) -> Program:
        """Return the rule with its macros expanded.

        Raises:
            RuleError: The text is no rule.
        """
        return expand(parse(self.text))

    @cached_property
    def rule(self) -> Rule:
        """Return the rule itself.

        Raises:
            RuleError: There is more than one rule, or its head is none of HEADS.
        """
        rules = parse(self.text).rules
        if len(rules) != 1:
            raise RuleError(f"write one rule, not {len(rules)}", rules[1].at)
        rule = rules[0]
        is_edge = len(rule.head.terms) == 1 and isinstance(rule.head.terms[0], Variable)
        if rule.head.relation not in ACTS or is_edge == (rule.head.relation == "infer"):
            raise RuleError(f"the head has to be {HEADS}, not {rule.head}", rule.at)
        if rule.head.relation == "infer" and not _is_triple(rule):
            raise RuleError(f"the head has to be {HEADS}, not {rule.head}", rule.at)
        return rule

    @property
    def act(self) -> Act:
        """Return what the rule does."""
        return cast(Act, self.rule.head.relation)

    @property
    def relation(self) -> str:
        """Return the relation that the rule infers."""
        return str(cast(Constant, self.rule.head.terms[1]).value)

    def validate(self) -> None:
        """Try the rule on the smallest graph.

        Raises:
            RuleError: It names a relation that there is not, or leaves a variable of its head open.
        """
        _ = self.rule
        self.ground(facts_of(SMALLEST))

    def ground(self, facts: Facts) -> list[tuple[int, ...]]:
        """Return the heads that follow from facts, in ascending order: (edge,), or (source, target) of an inference.

        Raises:
            RuleError: A comparison of numbers meets a name.
            TooManyBindings: The rule would need more memory than it may take.
        """
        check(self.program, facts)
        grounder = Grounder(self.program, facts)
        rule = self.program.clauses[self.act][0]
        bindings = grounder.ground(rule, no_variables(torch.device("cpu")))
        terms = [term for term in rule.head.terms if isinstance(term, Variable)]
        columns = [bindings.columns[term.name].tolist() for term in terms]
        return sorted(set(zip(*columns, strict=True)))


def _is_triple(rule: Rule) -> bool:
    terms = rule.head.terms
    if len(terms) != 3 or not isinstance(terms[1], Constant) or not isinstance(terms[1].value, str):
        return False
    return isinstance(terms[0], Variable) and isinstance(terms[2], Variable)
