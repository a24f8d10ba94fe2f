"""All rules of one version: the edges that they add to a sub-graph, and those that they leave to be walked.

Inferences come first, from the facts of the graph alone. Then an edge may be walked if no rule forbids it and every
rule that requires something holds of it. So the order of the rules does not matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from models.graph.base import to_words
from models.graph.knowledge import Fact
from models.relational.rules.rule import Act, WalkRule, facts_of
from models.relational.subgraph import Cut, Edge, Subgraph
from models.rules.ground import TooManyBindings
from models.rules.syntax import RuleError


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
