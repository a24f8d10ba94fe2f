"""Walks from the entities of a question along the edges of its sub-graph, and the weight that each one has.

A walk is a start and a sequence of relations; it stands at all nodes that these lead to at once, so that "the languages
of the neighbours" is one walk. Its weight is the product of the attention weights of its hops (network.py).
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from models.relational.network import FIRST_LABEL, NULL, STAY, Reading, RelationalNetwork
from models.relational.subgraph import Subgraph

MIN_WEIGHT = 1e-3  # walks lighter than this are followed no further


@dataclass(frozen=True)
class Rival:
    """A relation that a walk could have taken at a hop.

    Attributes:
        relation: Name of the relation.
        label: Label of the relation.
        weight: Its attention weight.
    """

    relation: str
    label: str
    weight: float


@dataclass(frozen=True)
class Step:
    """One hop of a walk.

    Attributes:
        relation: Name of the relation that was walked.
        label: Its label.
        edges: Places of the facts that were walked.
        weight: Attention weight of the relation, averaged over the nodes at which the walk stood.
        broken: Weight of `null`: that no fact here is the one that is asked for.
        rivals: The other relations, the heaviest first.
    """

    relation: str
    label: str
    edges: tuple[int, ...]
    weight: float
    broken: float
    rivals: tuple[Rival, ...]


@dataclass(frozen=True)
class Walk:
    """A path of relations.

    Attributes:
        mention: Number of the mention at which it starts.
        start: Node at which it starts.
        steps: Its hops.
        nodes: Nodes at which it stands.
        weight: Product of the weights of its hops; 1 at its start.
    """

    mention: int
    start: int
    steps: tuple[Step, ...]
    nodes: tuple[int, ...]
    weight: float


@dataclass(frozen=True)
class Search:
    """What became of all walks of one question.

    Attributes:
        finished: Walks that ended at an answer, the heaviest first.
        broken: Walks that stand where the fact that is asked for is missing, with the weight of this, heaviest first.
    """

    finished: tuple[Walk, ...]
    broken: tuple[Walk, ...]


@dataclass(frozen=True)
class Field:
    """Where one question may walk.

    Attributes:
        graph: Its sub-graph.
        allowed: Edges that the rules let it walk.
        starts: Mention and node of each start.
    """

    graph: Subgraph
    allowed: frozenset[int]
    starts: tuple[tuple[int, int], ...]

    def options(self, node: int) -> Mapping[str, tuple[int, ...]]:
        """Return relation -> edges that may be walked from a node."""
        leaving = self.graph.leaving.get(node, {})
        allowed = {
            relation: tuple(e for e in edges if e in self.allowed) for relation, edges in leaving.items()
        }
        return {relation: edges for relation, edges in allowed.items() if edges}


@dataclass(frozen=True)
class _Open:
    """A walk that goes on. carried: what its last edge brought."""

    question: int
    walk: Walk
    carried: Tensor | None


@dataclass(frozen=True)
class Labels:
    """Keys of relations: label -> row of `vectors`, and what the network makes of them."""

    rows: Mapping[str, int]
    vectors: Tensor
    keys: Tensor

    @staticmethod
    def of(vectors: Mapping[str, Tensor], network: RelationalNetwork) -> "Labels":
        """Gather the vectors of all labels that a batch may walk."""
        rows = {label: FIRST_LABEL + place for place, label in enumerate(vectors)}
        width = network.special_keys.shape[1]
        stacked = torch.stack([*vectors.values()]) if vectors else network.special_keys.new_zeros(0, width)
        return Labels(rows, stacked, network.keys(stacked))


@torch.no_grad()
def search(
    network: RelationalNetwork, reading: Reading, fields: Sequence[Field], labels: Labels
) -> list[Search]:
    """Follow the heaviest walks of each question, `config.beams` at each hop."""
    finished: list[list[Walk]] = [[] for _ in fields]
    broken: list[list[Walk]] = [[] for _ in fields]
    walks = [
        _Open(question, Walk(mention, node, (), (node,), 1.0), None)
        for question, field in enumerate(fields)
        for mention, node in field.starts
    ]
    for hop in range(network.config.hops):
        grown: dict[int, list[_Open]] = defaultdict(list)
        for open, (weights, carried) in zip(
            walks, _attend(network, reading, fields, labels, hop, walks), strict=True
        ):
            field = fields[open.question]
            stay, null = weights.pop("@stay"), weights.pop("@null")
            if stay:
                finished[open.question].append(replace(open.walk, weight=open.walk.weight * stay))
            broken[open.question].append(replace(open.walk, weight=open.walk.weight * null))
            for walk in _grow(open.walk, field, weights, null):
                label = walk.steps[-1].label
                value = carried[labels.rows[label] - FIRST_LABEL]
                grown[open.question].append(_Open(open.question, walk, value))
        walks = [open for opens in grown.values() for open in _keep(opens, network.config.beams)]
    for open in walks:
        finished[open.question].append(open.walk)
    return [Search(_by_weight(done), _by_weight(ended)) for done, ended in zip(finished, broken, strict=True)]


def _attend(
    network: RelationalNetwork,
    reading: Reading,
    fields: Sequence[Field],
    labels: Labels,
    hop: int,
    walks: Sequence[_Open],
) -> list[tuple[dict[str, float], Tensor]]:
    """Return, for each walk, the weight of each relation, "@stay" and "@null", and what each label would carry on."""
    if not walks:
        return []
    device = reading.tokens.device
    questions = torch.tensor([open.question for open in walks], device=device)
    brought = [open.carried for open in walks if open.carried is not None]
    states = network.states(reading, hop, questions, torch.stack(brought) if brought else None)
    visits = [(number, node) for number, open in enumerate(walks) for node in open.walk.nodes]
    allowed = torch.zeros(len(visits), len(labels.keys), dtype=torch.bool)
    allowed[:, NULL], allowed[:, STAY] = True, hop > 0
    for row, (number, node) in enumerate(visits):
        field = fields[walks[number].question]
        for edges in field.options(node).values():
            allowed[row, labels.rows[field.graph.edges[edges[0]].fact.label]] = True
    visit_walks = torch.tensor([number for number, _ in visits], device=device)
    weights = network.weights(states, labels.keys, allowed.to(device), visit_walks).exp().cpu()
    results, row = list[tuple[dict[str, float], Tensor]](), 0
    for number, open in enumerate(walks):
        rows = weights[row : row + len(open.walk.nodes)]
        spread = _average(fields[open.question], open.walk.nodes, rows, labels)
        results.append((spread, network.carry(states[number : number + 1], labels.vectors)))
        row += len(open.walk.nodes)
    return results


def _average(field: Field, nodes: Sequence[int], rows: Tensor, labels: Labels) -> dict[str, float]:
    """Average the weights over the nodes at which a walk stands; relations of one label share its weight."""
    total = {"@null": float(rows[:, NULL].mean()), "@stay": float(rows[:, STAY].mean())}
    for node, row in zip(nodes, rows, strict=True):
        for relation, edges in field.options(node).items():
            weight = float(row[labels.rows[field.graph.edges[edges[0]].fact.label]])
            total[relation] = total.get(relation, 0.0) + weight / len(nodes)
    return total


def _grow(walk: Walk, field: Field, weights: Mapping[str, float], null: float) -> list[Walk]:
    """Return the walk with each relation that it may take next."""
    edges: dict[str, list[int]] = defaultdict(list)
    for node in walk.nodes:
        for relation, places in field.options(node).items():
            edges[relation] += places
    facts = {relation: field.graph.edges[places[0]].fact for relation, places in edges.items()}
    rivals = [Rival(relation, facts[relation].label, weight) for relation, weight in weights.items()]
    rivals.sort(key=lambda rival: (-rival.weight, rival.relation))
    grown = []
    for rival in rivals:
        others = tuple(other for other in rivals if other is not rival)
        places = tuple(edges[rival.relation])
        step = Step(rival.relation, rival.label, places, rival.weight, null, others)
        nodes = tuple(dict.fromkeys(field.graph.edges[place].target for place in places))
        grown.append(replace(walk, steps=(*walk.steps, step), nodes=nodes, weight=walk.weight * rival.weight))
    return grown


def _keep(opens: list[_Open], beams: int) -> list[_Open]:
    heavy = [open for open in opens if open.walk.weight >= MIN_WEIGHT]
    return sorted(heavy, key=lambda open: -open.walk.weight)[:beams]


def _by_weight(walks: Sequence[Walk]) -> tuple[Walk, ...]:
    return tuple(sorted(walks, key=lambda walk: (-walk.weight, len(walk.steps))))


def log_odds(share: float) -> float:
    """Return the logit of a share, bounded so that a certain one is finite."""
    share = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(share / (1 - share))
