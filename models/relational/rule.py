"""One rule of a curator about walks, in the language of models/rules: what it may say, and what it comes to.

    forbid(E) <= hidden.relation(E,"spouse")                    # edge E may not be walked
    require(E) <= hidden.relation(E,R), neq(R,"spouse")         # only edges that fit may be walked
    infer(I,"grandparent",J) <= hidden.edge(A,I,K), hidden.relation(A,"parent"),
                                hidden.edge(B,K,J), hidden.relation(B,"parent")    # there is such an edge, too
    infer(I,"within",J) <= infer(I,"within",K), infer(K,"within",J)    # and so on, to a depth

The facts that a body may name (specs/rules.md, sections 3 and 9):

    node(I)           I is a node
    start(I)          the question names node I
    edge(E,I,J)       edge E is a fact with the subject I and the object J, whichever way a walk would take it
    relation(E,R)     the fact of edge E has the relation "R"
    name(I,N)         node I is called "N"
    stay(E)           E is no fact: the walk ends where it is
    infer(I,R,J)      there is a fact of the relation R with the subject I and the object J, or rules infer one

A rule is one line (the last one above is wrapped). It is text that a grammar reads; it is never run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Literal, cast

from models.graph.knowledge import Fact
from models.relational.subgraph import Edge, Node, Subgraph
from models.rules.check import check
from models.rules.facts import Facts
from models.rules.ground import ground
from models.rules.parse import parse
from models.rules.syntax import Constant, Rule, RuleError, Variable

Act = Literal["forbid", "require", "infer"]
ARITIES = {
    "node": 1,
    "start": 1,
    "edge": 3,
    "relation": 2,
    "name": 2,
    "stay": 1,
    "infer": 3,
}  # terms of each fact
HEADS = 'forbid(E), require(E) or infer(I,"relation",J)'
# The smallest graph that has every fact a rule may name; a rule is tried on it before it is taken.
SMALLEST = Subgraph((Node("a", "A"), Node("b", "B")), (Edge(0, 1, Fact("r", "r", "B", "b")),), {"a": 0})


@dataclass(frozen=True)
class WalkRule:
    """A rule that was read."""

    text: str  # the rule as the curator wrote it

    @cached_property
    def rule(self) -> Rule:
        """Return the rule itself. RuleError: the text is no rule, or its head is none of HEADS."""
        rule = parse(self.text)
        match rule.head.relation, rule.head.terms:
            case (("forbid" | "require"), [Variable()]):
                return rule
            case "infer", [Variable(), Constant(str()), Variable()]:
                return rule
        raise RuleError(f"the head has to be {HEADS}, not {rule.head}", rule.head.at)

    @cached_property
    def rule_with_numbers(self) -> Rule:
        """Return the rule in which each `infer` of the body has one term more in front, the number of the edge."""
        body = [
            replace(literal, terms=(Variable(f"#{place}", literal.at), *literal.terms))
            if literal.relation == "infer"
            else literal
            for place, literal in enumerate(self.rule.body)
        ]
        return Rule(self.rule.head, tuple(body))

    @property
    def is_recursive(self) -> bool:
        """Return whether the rule rests on inferences."""
        return self.rule_with_numbers != self.rule

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

    def ground(self, facts: Facts) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Return the heads that follow from facts, in ascending order: (edge,), or (source, target) of an inference.

        With each inference are the edges of one way to it.

        RuleError: a comparison of numbers meets a name. TooManyBindings: the rule would need more memory than it may
        take.
        """
        check(self.rule, ARITIES)
        columns = ground(self.rule_with_numbers, facts).columns
        heads = zip(*(columns[term.name].tolist() for term in self.rule.head.variables), strict=True)
        literals = self.rule_with_numbers.body if self.act == "infer" else ()
        edges = [literal.terms[0] for literal in literals if literal.relation in ("edge", "infer")]
        steps = [columns[term.name].tolist() for term in edges if isinstance(term, Variable)]
        first_ways: dict[tuple[int, ...], tuple[int, ...]] = {}
        for head, way in zip(heads, zip(*steps, strict=True) if steps else repeat(()), strict=False):
            first_ways[head] = min(way, first_ways.get(head, way))
        return dict(sorted(first_ways.items()))


def facts_of(graph: Subgraph, inferences: Sequence[Edge] = ()) -> Facts:
    """State a sub-graph as ground facts, with edges that rules have inferred; a relation may have none."""
    edges = list(enumerate(graph.edges))
    terms: dict[str, list[tuple[int | str, ...]]] = {
        "node": [(place,) for place in range(len(graph.nodes))],
        "name": [(place, node.label) for place, node in enumerate(graph.nodes)],
        "start": [(place,) for place in graph.starts.values()],
        "edge": [(place, edge.subject, edge.object) for place, edge in edges],
        "relation": [(place, edge.fact.relation) for place, edge in edges],
        "stay": [(len(edges),)],
        "infer": [
            (place, edge.subject, edge.fact.relation, edge.object)
            for place, edge in enumerate((*graph.edges, *inferences))
        ],
    }
    return Facts(terms, ARITIES | {"infer": 4})
