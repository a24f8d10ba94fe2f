"""The entities around some entities, found a hop at a time and within bounds.

`Neighbourhood` reads no graph itself: it says which entities it needs next and is given them. So one rule serves a
graph in memory and one behind Redis, where a hop of many questions is one read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from models.graph.in_edges import InEdge
from models.graph.knowledge import Entity


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
