"""The entities around some entities, found a hop at a time and within bounds.

`Neighbourhood` reads no graph itself: it says which entities it needs next and is given them. So one rule serves a
graph in memory and one behind Redis, where a hop of many questions is one read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from models.graph.knowledge import Entity


@dataclass(frozen=True)
class Reach:
    """How far from the entities of a question a system reads.

    Attributes:
        hops: Largest number of facts on a path. The entity at its end is not read.
        fan_out: Number of facts of one entity that are followed, the first ones.
        max_entities: Largest number of entities of one question.
    """

    hops: int
    fan_out: int
    max_entities: int


class Neighbourhood:
    """Entities in fewer than `reach.hops` steps from a start, breadth first.

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

    def advance(self, entities: Mapping[str, Entity | None]) -> None:
        """Take the entities of the frontier, and face those that their facts lead to.

        Args:
            entities: Id -> entity, of every id of the frontier; None where there is none.
        """
        fresh = [entity for id in self.frontier if (entity := entities[id]) is not None]
        self.entities |= {entity.id: entity for entity in fresh}
        self._face(fact.object_id for entity in fresh for fact in entity.facts[: self._reach.fan_out])

    def _face(self, ids: Iterable[str]) -> None:
        distinct = dict.fromkeys(id for id in ids if id and id not in self.entities)
        n_free = self._reach.max_entities - len(self.entities) if self._n_hops_left else 0
        self.frontier = list(distinct)[:n_free]
        self._n_hops_left -= 1
