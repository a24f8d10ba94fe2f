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

Inferences of all rules of a version come first, from the facts of the graph alone. Then an edge may be walked if no
rule forbids it and every rule that requires something holds of it. So the order of the rules does not matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, cast, get_args

import torch

from models.graph.base import to_words
from models.graph.knowledge import Fact
from models.relational.subgraph import Cut, Edge, Node, Subgraph
from models.rules.check import check
from models.rules.facts import Facts, Relation
from models.rules.ground import Grounder, TooManyBindings, no_variables
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
        """Return the rule as a program. RuleError: the text is no rule."""
        return parse(self.text)

    @cached_property
    def rule(self) -> Rule:
        """Return the rule itself. RuleError: there is more than one rule, or its head is none of HEADS."""
        rules = self.program.rules
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


class Refusal(NamedTuple):
    """The reason why an edge may not be walked: the edit of the rule that forbids it, and the rule in words."""

    edit: str
    sentence: str


MAX_INFERRED = 512  # edges that rules may add to a sub-graph


@dataclass(frozen=True)
class EditedRule:
    """A rule and its origin."""

    rule: WalkRule
    edit: str  # id of the edit
    label: str = ""  # what people call the relation that it infers; "" for its name as words


@dataclass(frozen=True)
class RuleProgram:
    """Immutable; two programs of the same rules are equal."""

    rules: tuple[EditedRule, ...] = ()  # in the ledger's order

    def extend(self, graph: Subgraph) -> Subgraph:
        """Add the edges that rules infer and that the graph does not have."""
        present = {(edge.subject, edge.fact.relation, edge.object) for edge in graph.edges}
        edges: list[Edge] = []
        cuts = list(graph.cuts)
        for entry, heads in self._ground(graph, "infer"):
            relation, label = entry.rule.relation, entry.label or to_words(entry.rule.relation)
            for source, target in heads:
                if (source, relation, target) not in present and source < len(graph.nodes) > target:
                    present.add((source, relation, target))
                    node = graph.nodes[target]
                    edges.append(Edge(source, target, Fact(relation, label, node.label, node.id, entry.edit)))
        if len(edges) > MAX_INFERRED:
            cuts.append(Cut("inferences", len(edges) - MAX_INFERRED, "max_inferred"))
        new_edges = tuple(edges[:MAX_INFERRED])
        return replace(graph, edges=graph.edges + new_edges, cuts=tuple(cuts)) if edges else graph

    def allowed(self, graph: Subgraph) -> frozenset[int]:
        """Return the edges that may be walked."""
        allowed = set(range(len(graph.edges)))
        for _, heads in self._ground(graph, "forbid"):
            allowed -= {edge for (edge,) in heads}
        for _, heads in self._ground(graph, "require"):
            allowed &= {edge for (edge,) in heads}
        return frozenset(allowed)

    def why_forbidden(self, graph: Subgraph, edges: Sequence[int]) -> Mapping[int, Refusal]:
        """Name for each edge the first rule that keeps it from being walked, and its edit."""
        reasons: dict[int, Refusal] = {}
        for entry, heads in self._ground(graph, "forbid") if edges else ():
            for edge in set(edges) & {edge for (edge,) in heads}:
                reasons.setdefault(edge, Refusal(entry.edit, f"forbidden: {entry.rule.text}"))
        for entry, heads in self._ground(graph, "require") if edges else ():
            for edge in set(edges) - {edge for (edge,) in heads}:
                reasons.setdefault(edge, Refusal(entry.edit, f"not allowed: {entry.rule.text}"))
        return reasons

    def failures(self, graph: Subgraph) -> list[str]:
        """Say which rules could not be applied to this graph, and why; such a rule changes nothing."""
        return [sentence for entry in self.rules if (sentence := _try(entry, graph))]

    def _ground(self, graph: Subgraph, act: Act) -> Iterator[tuple[EditedRule, Sequence[tuple[int, ...]]]]:
        rules = [entry for entry in self.rules if entry.rule.act == act]
        facts = facts_of(graph) if rules else None
        for entry in rules:
            assert facts is not None
            try:
                yield entry, entry.rule.ground(facts)
            except (RuleError, TooManyBindings):
                continue  # `failures` names it


def _try(entry: EditedRule, graph: Subgraph) -> str:
    try:
        entry.rule.ground(facts_of(graph))
    except (RuleError, TooManyBindings) as error:
        return f"edit {entry.edit}: {error}"
    return ""
