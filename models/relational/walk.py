"""Walks from the entities of a question along the edges of its sub-graph, and the weight that each one has.

A walk is a start and a sequence of relations, by their labels. It stands at all nodes that these lead to at once, so
that "the languages of the neighbours" is one walk. Its weight is the product of the attention weights of its hops.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor

from models.relational.network import FIRST_LABEL, NULL, STAY, Reading, RelationalNetwork
from models.relational.subgraph import Subgraph

# A walk at one hop, averaged over the nodes at which it stands: the weights of the relations of each label, of ending
# here, and of no fact being the one that is asked for.
Spread: TypeAlias = tuple[Mapping[str, float], float, float]


@dataclass(frozen=True)
class Step:
    """One hop of a walk."""

    label: str  # what people call the relation that was walked
    edges: tuple[int, ...]  # places of the facts that were walked
    weight: float  # attention weight of the relation, averaged over the nodes at which the walk stood
    broken: float  # weight of `null`: that no fact here is the one that is asked for
    rivals: tuple[
        tuple[str, float], ...
    ]  # labels of the other relations with their weights, the heaviest first


@dataclass(frozen=True)
class Walk:
    """A path of relations."""

    mention: int  # number of the mention at which it starts
    start: int  # node at which it starts
    steps: tuple[Step, ...]  # its hops
    nodes: tuple[int, ...]  # nodes at which it stands
    weight: float  # product of the weights of its hops; 1 at its start


@dataclass(frozen=True)
class Search:
    """The results of all walks of one question."""

    finished: tuple[Walk, ...]  # walks that end at an answer, the heaviest first
    # Walks that stand where the fact that is asked for is missing, with the weight of this, heaviest first
    broken: tuple[Walk, ...]


@dataclass(frozen=True)
class Field:
    """The edges on which one question may walk."""

    graph: Subgraph  # its sub-graph
    allowed: frozenset[int]  # edges that the rules let it walk
    starts: tuple[tuple[int, int], ...]  # mention and node of each start

    def options(self, node: int) -> Mapping[str, tuple[int, ...]]:
        """Return label -> edges that may be walked from a node."""
        leaving = self.graph.leaving.get(node, {})
        allowed = {label: tuple(e for e in edges if e in self.allowed) for label, edges in leaving.items()}
        return {label: edges for label, edges in allowed.items() if edges}


@dataclass(frozen=True)
class _Front:
    """A walk that has not ended."""

    question: int  # place of its question in the batch
    walk: Walk  # the walk so far
    value: Tensor | None  # what its last edge carries on; None at its start


@dataclass(frozen=True)
class Labels:
    """Labels of all relations that a batch may walk."""

    rows: Mapping[str, int]  # label -> its row among the keys
    vectors: Tensor
    keys: Tensor  # what the network makes of them, behind the keys of null and stay

    @staticmethod
    def of(vectors: Mapping[str, Tensor], network: RelationalNetwork) -> "Labels":
        """Gather the vectors of labels."""
        rows = {label: FIRST_LABEL + place for place, label in enumerate(vectors)}
        width = network.special_keys.shape[1]
        matrix = torch.stack([*vectors.values()]) if vectors else network.special_keys.new_zeros(0, width)
        return Labels(rows, matrix, network.keys(matrix))


class Searcher:
    """Follows the walks of a batch of questions."""

    def __init__(
        self, network: RelationalNetwork, reading: Reading, fields: Sequence[Field], labels: Labels
    ) -> None:
        self._network, self._reading, self._fields, self._labels = network, reading, fields, labels
        self._finished: list[list[Walk]] = [[] for _ in fields]
        self._broken: list[list[Walk]] = [[] for _ in fields]

    @torch.no_grad()
    def search(self) -> list[Search]:
        """Follow the heaviest walks of each question, `config.beams` at each hop."""
        fronts = [
            _Front(question, Walk(mention, node, (), (node,), 1.0), None)
            for question, field in enumerate(self._fields)
            for mention, node in field.starts
        ]
        for hop in range(self._network.config.hops):
            fronts = self._hop(hop, fronts)
        for front in fronts:
            self._finished[front.question].append(front.walk)
        pairs = zip(self._finished, self._broken, strict=True)
        return [Search(_by_weight(finished), _by_weight(broken)) for finished, broken in pairs]

    def _hop(self, hop: int, fronts: Sequence[_Front]) -> list[_Front]:
        """Take every walk one hop on, and note those that end or break."""
        next_fronts: dict[int, list[_Front]] = defaultdict(list)
        for front, ((labels, stay, null), values) in zip(fronts, self._attend(hop, fronts), strict=True):
            walk, field = front.walk, self._fields[front.question]
            if hop:
                self._finished[front.question].append(replace(walk, weight=walk.weight * stay))
            self._broken[front.question].append(replace(walk, weight=walk.weight * null))
            for longer in _grow(walk, field, labels, null):
                row = self._labels.rows[longer.steps[-1].label] - FIRST_LABEL
                next_fronts[front.question].append(_Front(front.question, longer, values[row]))
        groups = [sorted(group, key=lambda front: -front.walk.weight) for group in next_fronts.values()]
        return [front for group in groups for front in group[: self._network.config.beams]]

    def _attend(self, hop: int, fronts: Sequence[_Front]) -> list[tuple[Spread, Tensor]]:
        """Return how each walk spreads, and the value that each label would carry on."""
        if not fronts:
            return []
        device = self._reading.tokens.device
        questions = torch.tensor([front.question for front in fronts], device=device)
        carry = [front.value for front in fronts if front.value is not None]
        states = self._network.states(self._reading, hop, questions, torch.stack(carry) if carry else None)
        counts = [len(front.walk.nodes) for front in fronts]
        walks = torch.repeat_interleave(torch.arange(len(fronts)), torch.tensor(counts))
        allowed = self._allowed(hop, fronts).to(device)
        weights = self._network.weights(states, self._labels.keys, allowed, walks.to(device)).exp().cpu()
        return [
            (
                _average(self._fields[front.question], front.walk.nodes, rows, self._labels),
                self._network.carry(state.expand(len(self._labels.vectors), -1), self._labels.vectors),
            )
            for front, state, rows in zip(fronts, states, weights.split_with_sizes(counts), strict=True)
        ]

    def _allowed(self, hop: int, fronts: Sequence[_Front]) -> Tensor:
        """Return a boolean [visit key]: the relations that leave each node of each walk, null, and stay from hop 1."""
        visits = [(self._fields[front.question], node) for front in fronts for node in front.walk.nodes]
        allowed = torch.zeros(len(visits), len(self._labels.keys), dtype=torch.bool)
        allowed[:, NULL], allowed[:, STAY] = True, hop > 0
        for row, (field, node) in enumerate(visits):
            for label in field.options(node):
                allowed[row, self._labels.rows[label]] = True
        return allowed


def _average(field: Field, nodes: Sequence[int], rows: Tensor, labels: Labels) -> Spread:
    weights: dict[str, float] = defaultdict(float)
    for node, row in zip(nodes, rows, strict=True):
        for label in field.options(node):
            weights[label] += float(row[labels.rows[label]]) / len(nodes)
    return weights, float(rows[:, STAY].mean()), float(rows[:, NULL].mean())


def _grow(walk: Walk, field: Field, weights: Mapping[str, float], null: float) -> list[Walk]:
    """Return the walk with each relation that it may take next."""
    edges: dict[str, list[int]] = defaultdict(list)
    for node in walk.nodes:
        for label, places in field.options(node).items():
            edges[label] += places
    rivals = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))
    walks = []
    for label, weight in rivals:
        places = tuple(edges[label])
        other_rivals = tuple(rival for rival in rivals if rival[0] != label)
        step = Step(label, places, weight, null, other_rivals)
        nodes = tuple(dict.fromkeys(field.graph.edges[place].target for place in places))
        walks.append(replace(walk, steps=(*walk.steps, step), nodes=nodes, weight=walk.weight * weight))
    return walks


def _by_weight(walks: Sequence[Walk]) -> tuple[Walk, ...]:
    return tuple(sorted(walks, key=lambda walk: (-walk.weight, len(walk.steps))))
