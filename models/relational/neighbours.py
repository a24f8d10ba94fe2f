"""What a graph has to give for questions of several hops: the entities around an entity, a step at a time.

`Neighbours` is the whole interface. README.md says what a graph behind Redis needs to fulfil it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from models.graph.knowledge import Entity
from models.graph.view import GraphView


@runtime_checkable
class Neighbours(Protocol):
    """A graph at one version that can be asked for what lies around entities."""

    def neighbours(
        self, ids: Sequence[str], hops: int, fan_out: int, max_entities: int
    ) -> Mapping[str, Entity]:
        """Return the entities that facts lead to from `ids` in fewer than `hops` steps, `ids` first.

        The facts of an entity that lies `hops` steps away are not needed: no walk leaves it.

        Args:
            ids: Entities to start from.
            hops: Largest number of facts on a path.
            fan_out: Facts of one entity that are followed, the first ones. All of them are returned.
            max_entities: Largest number of entities; those that come later are left out.
        """


class EntityNeighbours:
    """Neighbours of entities that are looked up one by one, in memory.

    Args:
        find: Returns the entity with an id; None where there is none.
    """

    def __init__(self, find: Callable[[str], Entity | None]) -> None:
        self._find = find

    @staticmethod
    def of_view(view: GraphView, entities: Iterable[Entity] = ()) -> "EntityNeighbours":
        """Read base and edits of a view; `entities` were read with the rows of imports already."""
        by_id = {entity.id: entity for entity in entities}
        return EntityNeighbours(lambda id: by_id.get(id) or view.entity(id))

    def neighbours(
        self, ids: Sequence[str], hops: int, fan_out: int, max_entities: int
    ) -> Mapping[str, Entity]:
        """Return the entities in fewer than `hops` steps, breadth first."""
        entities: dict[str, Entity] = {}
        frontier = list(dict.fromkeys(ids))
        for _ in range(hops):
            fresh = (id for id in frontier if id not in entities)
            step = [entity for id in fresh if (entity := self._find(id)) is not None]
            entities |= {entity.id: entity for entity in step[: max_entities - len(entities)]}
            targets = (fact.object_id for entity in step for fact in entity.facts[:fan_out])
            frontier = list(dict.fromkeys(id for id in targets if id))
        return entities
