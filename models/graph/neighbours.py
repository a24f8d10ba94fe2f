"""Edges of the graph by their object, and the entities around some entities, found a hop at a time and within bounds.

Edges by object say which subjects may have a fact about an entity.

Statements are kept by subject. An `InEdge` says where to look for a statement that leads to an entity; the fold of its
subject says whether it holds at a version. So nothing here changes when a statement is replaced or taken back.

`Neighbourhood` reads no graph itself: it says which entities it needs next and is given them. So one rule serves a
graph in memory and one behind Redis, where a hop of many questions is one read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Reach:
    """The distance from the entities of a question up to which a system reads."""

    hops: int  # largest number of facts on a path. The entity at its end is not read.
    fan_out: int  # number of facts of one entity that are followed, the first ones
    max_entities: int  # largest number of entities of one question
    fan_in: int = 0  # number of facts about one entity that are followed back to their subjects; 0 for none


class Neighbourhood:
    """Entities in fewer than `reach.hops` steps from a start, breadth first.

    With a `fan_in` a step may lead from an object to a subject, too. The subject is read even at the end of the longest
    path, for it alone says that the fact holds.

    Attributes:
        entities: Entities found so far, by id, the start in front.
        frontier: Ids of the entities that are needed next; empty at the end.
    """

    def __init__(self, start: Iterable[str], reach: Reach) -> None:
        """Begin at the entities with the ids `start`."""
        self.entities: dict[str, Entity] = {}
        self._reach = reach
        self._n_hops_left = reach.hops
        self.frontier: list[str] = []
        self._face(start)

    def advance(
        self, entities: Mapping[str, Entity | None], in_edges: Mapping[str, Sequence[InEdge]] | None = None
    ) -> None:
        """Take the entities of the frontier, and face those that their facts lead to.

        Args:
            entities: Id -> entity, of every id of the frontier; None if there is none.
            in_edges: Id -> facts about the entity, of every id of the frontier; needed with a `fan_in`.
        """
        fresh = [entity for id in self.frontier if (entity := entities[id]) is not None]
        self.entities |= {entity.id: entity for entity in fresh}
        objects = [fact.object_id for entity in fresh for fact in entity.facts[: self._reach.fan_out]]
        edges_by_object = in_edges or {}
        subjects = [
            edge.subject
            for entity in fresh
            for edge in edges_by_object.get(entity.id, ())[: self._reach.fan_in]
        ]
        self._face([*objects, *subjects] if self._n_hops_left else subjects)

    def _face(self, ids: Iterable[str]) -> None:
        distinct = dict.fromkeys(id for id in ids if id and id not in self.entities)
        n_free = self._reach.max_entities - len(self.entities) if self._n_hops_left >= 0 else 0
        self.frontier = list(distinct)[:n_free]
        self._n_hops_left -= 1
