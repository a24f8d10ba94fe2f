"""One rule of a curator about walks, in the language of models/rules: what it may say, and what it comes to.

    forbid(E) <= hidden.relation(E,"spouse")                    # edge E may not be walked
    require(E) <= hidden.relation(E,R), neq(R,"spouse")         # only edges that fit may be walked
    infer(I,"grandparent",J) <= hidden.edge(A,I,K), hidden.relation(A,"parent"),
                                hidden.edge(B,K,J), hidden.relation(B,"parent")    # there is such an edge, too

The facts that a body may name (specs/rules.md, sections 3 and 9):

    node(I)           I is a node
    start(I)          the question names node I
    edge(E,I,J)       edge E is a fact with the subject I and the object J, whichever way a walk would take it
    relation(E,R)     the fact of edge E has the relation "R"
    name(I,N)         node I is called "N"
    stay(E)           E is no fact: the walk ends where it is

A rule is one line (the last one above is wrapped). It is text that a grammar reads; it is never run.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, cast, get_args

import torch

from models.graph.knowledge import Fact
from models.relational.subgraph import Edge, Node, Subgraph
from models.rules.check import check
from models.rules.facts import Facts, Relation
from models.rules.ground import Grounder, no_variables
from models.rules.macros import expand
from models.rules.parse import parse
from models.rules.syntax import Constant, Program, Rule, RuleError, Variable

Act = Literal["forbid", "require", "infer"]
ACTS: tuple[Act, ...] = get_args(Act)
ARITIES = {"node": 1, "start": 1, "edge": 3, "relation": 2, "name": 2, "stay": 1}  # terms of each fact
HEADS = 'forbid(E), require(E) or infer(I,"relation",J)'
# The smallest graph that has every fact a rule may name; a rule is tried on it before it is taken.
SMALLEST = Subgraph((Node("a", "A"), Node("b", "B")), (Edge(0, 1, Fact("r", "r", "B", "b")),), {"a": 0})


@dataclass(frozen=True)
class WalkRule:
    """A rule that was read."""

    text: str  # the rule as the curator wrote it

    @cached_property
    def program(self) -> Program:
        """Return the rule with its macros expanded. RuleError: the text is no rule."""
        return expand(parse(self.text))

    @cached_property
    def rule(self) -> Rule:
        """Return the rule itself. RuleError: there is more than one rule, or its head is none of HEADS."""
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

        RuleError: it names a relation that there is not, or leaves a variable of its head open.
        """
        _ = self.rule
        self.ground(facts_of(SMALLEST))

    def ground(self, facts: Facts) -> list[tuple[int, ...]]:
        """Return the heads that follow from facts, in ascending order: (edge,), or (source, target) of an inference.

        RuleError: a comparison of numbers meets a name. TooManyBindings: the rule would need more memory than it may
        take.
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


def facts_of(graph: Subgraph) -> Facts:
    """State a sub-graph as ground facts; a relation that has none may be named all the same."""
    edges = list(enumerate(graph.edges))
    terms: dict[str, list[tuple[int | str, ...]]] = {
        "node": [(place,) for place in range(len(graph.nodes))],
        "name": [(place, node.label) for place, node in enumerate(graph.nodes)],
        "start": [(place,) for place in graph.starts.values()],
        "edge": [(place, edge.subject, edge.object) for place, edge in edges],
        "relation": [(place, edge.fact.relation) for place, edge in edges],
        "stay": [(len(edges),)],
    }
    facts = Facts.of_terms({name: rows for name, rows in terms.items() if rows})
    empty = {name: Relation(torch.zeros(0, arity, dtype=torch.long)) for name, arity in ARITIES.items()}
    return replace(facts, relations={**empty, **facts.relations})
