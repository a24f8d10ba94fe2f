"""Edges by object say which subjects may have a fact about an entity.

Statements are kept by subject. An `InEdge` says where to look for a statement that leads to an entity; the fold of its
subject says whether it holds at a version. So nothing here changes when a statement is replaced or taken back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from models.graph.knowledge import Entity
from models.graph.statement import Statement


class InEdge(NamedTuple):
    """A fact as its object sees it."""

    relation: str  # its name in the graph
    subject: str  # id of the subject


def find_in_edges(subject: str, statements: Iterable[Statement]) -> Iterator[tuple[str, InEdge]]:
    """Yield the object's id and the edge of each statement that gives `subject` an entity as a value."""
    for statement in statements:
        if statement.object_id and statement.act != "remove" and not statement.relation.startswith("@"):
            yield statement.object_id, InEdge(statement.relation, subject)


def in_edges_of_entities(entities: Iterable[Entity]) -> Mapping[str, tuple[InEdge, ...]]:
    """Return the edges by the ids of their objects, from entities that are there; all of them hold."""
    edges: dict[str, list[InEdge]] = defaultdict(list)
    for entity in entities:
        for fact in entity.facts:
            if fact.object_id:
                edges[fact.object_id].append(InEdge(fact.relation, entity.id))
    return {id: interleave(of_object) for id, of_object in edges.items()}


def interleave(edges: Iterable[InEdge]) -> tuple[InEdge, ...]:
    """Return each edge once, the first of every relation in front, then the second ones, and so on.

    A bound then leaves something of every relation: a capital is found among thousands that were born there.
    """
    counts: dict[str, int] = defaultdict(int)
    ranks: list[tuple[int, InEdge]] = []
    for edge in dict.fromkeys(edges):
        ranks.append((counts[edge.relation], edge))
        counts[edge.relation] += 1
    return tuple(edge for _, edge in sorted(ranks, key=lambda pair: pair[0]))
