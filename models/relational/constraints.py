"""Rules as hard constraints: which edges a walk may take, in the language of models/attention.

specs/rules.md, sections 3 and 9. Nodes are queries and edges are keys, so an edge that no rule allows does not exist
for the softmax. The facts that rules may name:

    node(I)           I is a node
    start(I)          the question names node I
    edge(E,I,J)       edge E is a fact with the subject I and the object J, whichever way a walk would take it
    relation(E,R)     the fact of edge E has the relation "R"
    name(I,N)         node I is called "N"
    stay(E)           E is no fact: the walk ends where it is
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import torch

from models.attention.explain import Explanation
from models.attention.mask import Mask, compile_mask
from models.attention.pairs import Shape
from models.attention.rules.facts import Facts, Relation
from models.relational.subgraph import Subgraph

EVERY_EDGE = "attend(I,E) <= hidden.edge(E,I,J)"  # attention over all existing edges
ARITIES = {"node": 1, "start": 1, "edge": 3, "relation": 2, "name": 2, "stay": 1}  # terms of each fact
STAY = "attend(I,E) <= hidden.node(I), hidden.stay(E)"  # a walk may end anywhere, so no mask is empty


class Refusal(NamedTuple):
    """The reason why an edge may not be walked.

    Attributes:
        edit: Edit of the rule that forbids it; "" for a rule without one.
        sentence: The rule or its constraint, in words.
    """

    edit: str
    sentence: str


@runtime_checkable
class EdgeRules(Protocol):
    """Rules about the edges of a sub-graph: `Constraints`, or the edited rules of `rules/program`."""

    def extend(self, graph: Subgraph) -> Subgraph:
        """Add the edges that rules infer."""

    def allowed(self, graph: Subgraph) -> frozenset[int]:
        """Return the edges that may be walked."""

    def why_forbidden(self, graph: Subgraph, edges: Sequence[int]) -> Mapping[int, Refusal]:
        """Say of edges that may not be walked which rule forbids them."""

    def failures(self, graph: Subgraph) -> list[str]:
        """Say which rules could not be applied, and why."""


@dataclass(frozen=True)
class Constraints:
    """The edges that may be walked.

    Attributes:
        rules: Rules of `attend(I,E)`; a walk may leave node I by edge E if one of them holds.
    """

    rules: str = EVERY_EDGE

    @property
    def allow_everything(self) -> bool:
        """Return whether every edge may be walked, so that no mask has to be compiled."""
        return self.rules.strip() == EVERY_EDGE

    def compile(self, graph: Subgraph) -> Mask:
        """Return the mask of nodes (queries) and edges (keys); the last key is the end of a walk.

        Raises:
            RuleError: The rules cannot be read, or name something else than the facts above.
        """
        shape = Shape(len(graph.nodes), len(graph.edges) + 1)
        return compile_mask(f"{self.rules}\n{STAY}", shape, facts_of(graph))

    def allowed(self, graph: Subgraph) -> frozenset[int]:
        """Return the edges that may be walked."""
        if self.allow_everything:
            return frozenset(range(len(graph.edges)))
        pairs = self.compile(graph).pairs.tolist()
        return frozenset(e for i, e in pairs if e < len(graph.edges) and graph.edges[e].subject == i)

    def extend(self, graph: Subgraph) -> Subgraph:
        """Return the graph unchanged: these rules infer nothing."""
        return graph

    def why_forbidden(self, graph: Subgraph, edges: Sequence[int]) -> Mapping[int, Refusal]:
        """Name the constraints that forbid edges; they come from no edit."""
        if not edges:
            return {}
        mask = self.compile(graph)
        return {edge: Refusal("", str(mask.explain(graph.edges[edge].subject, edge))) for edge in edges}

    def failures(self, graph: Subgraph) -> list[str]:
        """Return nothing: a rule that cannot be applied raises."""
        return []

    def explain(self, graph: Subgraph, edge: int) -> Explanation:
        """Name the rule that allows an edge, or the first constraint of each rule that forbids it."""
        return self.compile(graph).explain(graph.edges[edge].subject, edge)


def facts_of(graph: Subgraph) -> Facts:
    """State a sub-graph as ground facts; a relation that has none may be named all the same."""
    rows: list[tuple[str, tuple[int | str, ...], tuple[float, ...]]] = []
    for place, node in enumerate(graph.nodes):
        rows += [("node", (place,), ()), ("name", (place, node.label), ())]
    rows += [("start", (place,), ()) for place in graph.starts.values()]
    for place, edge in enumerate(graph.edges):
        rows.append(("edge", (place, edge.subject, edge.object), ()))
        rows.append(("relation", (place, edge.fact.relation), ()))
    facts = Facts.of_rows([*rows, ("stay", (len(graph.edges),), ())])
    empty = {name: Relation(torch.zeros(0, arity, dtype=torch.long)) for name, arity in ARITIES.items()}
    return replace(facts, relations={**empty, **facts.relations})
