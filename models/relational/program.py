"""All rules of a version over one sub-graph: the edges that they infer, and those that may be walked.

Inferences of all rules of a version come first. Then an edge may be walked if no
rule forbids it and every rule that requires something holds of it. So the order of the rules does not matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from models.graph.base import to_words
from models.graph.knowledge import Fact
from models.relational.rule import Act, WalkRule, facts_of
from models.relational.subgraph import Cut, Edge, Subgraph
from models.rules.ground import TooManyBindings
from models.rules.syntax import RuleError

MAX_INFERRED = 512  # edges that rules may add to a sub-graph
MAX_DEPTH = 8  # times that rules are applied to what they inferred before


class Refusal(NamedTuple):
    """The reason why an edge may not be walked: the edit of the rule that forbids it, and the rule in words."""

    edit: str
    sentence: str


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
        """Add the edges that rules infer and that the graph does not have.

        Rules that rest on inferences are applied again to what all rules inferred before, MAX_DEPTH times in all.
        """
        present = {(edge.subject, edge.fact.relation, edge.object) for edge in graph.edges}
        edges, fresh, places = list(graph.edges), list[Edge](), range(len(graph.nodes))
        for _ in range(MAX_DEPTH):
            inferences, fresh = edges[len(graph.edges) :], []
            for entry, ways in self._ground(graph, "infer", inferences):
                relation = entry.rule.relation
                for (source, target), way in ways.items():
                    is_new = (
                        (source, relation, target) not in present and source in places and target in places
                    )
                    if is_new:
                        present.add((source, relation, target))
                        fresh.append(_infer(entry, graph, source, target, [edges[place] for place in way]))
            edges += fresh
            if not fresh or len(edges) - len(graph.edges) > MAX_INFERRED:
                break
        n_cut = len(edges) - len(graph.edges) - MAX_INFERRED
        cuts = (*graph.cuts, Cut("inferences", n_cut, "max_inferred")) if n_cut > 0 else graph.cuts
        kept_edges = tuple(edges[: len(graph.edges) + MAX_INFERRED])
        return replace(graph, edges=kept_edges, cuts=cuts) if len(edges) > len(graph.edges) else graph

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

    def _ground(
        self, graph: Subgraph, act: Act, inferences: Sequence[Edge] = ()
    ) -> Iterator[tuple[EditedRule, Mapping[tuple[int, ...], tuple[int, ...]]]]:
        rules = [e for e in self.rules if e.rule.act == act and (e.rule.is_recursive or not inferences)]
        facts = facts_of(graph, inferences) if rules else None
        for entry in rules:
            assert facts is not None
            try:
                yield entry, entry.rule.ground(facts)
            except (RuleError, TooManyBindings):
                continue  # `failures` names it


def _infer(entry: EditedRule, graph: Subgraph, source: int, target: int, steps: Sequence[Edge]) -> Edge:
    """Return the edge that a rule infers from others; it rests on the facts of the graph that these rest on."""
    node, relation = graph.nodes[target], entry.rule.relation
    fact = Fact(relation, entry.label or to_words(relation), node.label, node.id, entry.edit)
    basis = dict.fromkeys(part for step in steps for part in step.basis or (step,))
    return Edge(source, target, fact, basis=tuple(basis))


def _try(entry: EditedRule, graph: Subgraph) -> str:
    try:
        entry.rule.ground(facts_of(graph))
    except (RuleError, TooManyBindings) as error:
        return f"edit {entry.edit}: {error}"
    return ""
