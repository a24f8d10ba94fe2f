"""Where the sub-graph of a question comes from: entities that are looked up by their ids, a hop at a time."""

from collections.abc import Callable, Mapping, Sequence

from models.graph.knowledge import Entity
from models.graph.neighbours import Neighbourhood, Reach
from models.graph.view import GraphView
from models.system import Ask


class EntityNeighbours:
    """Neighbours of entities, from anything that finds an entity by its id.

    Args:
        find: Returns the entity with an id; None where there is none.
    """

    def __init__(self, find: Callable[[str], Entity | None]) -> None:
        self._find = find

    @staticmethod
    def of_view(view: GraphView) -> "EntityNeighbours":
        """Read base and edits of a view; rows of imports are not in it."""
        return EntityNeighbours(view.entity)

    @staticmethod
    def of_ask(ask: Ask, view: GraphView | None) -> "EntityNeighbours":
        """Read what the service put into a question, and what that lacks from base and edits of the view.

        The service reads within the same bounds (`Neighbourhood`), so nothing is lacking but for a caller in Python who
        fills `mentions` alone.
        """
        entities = {entity.id: entity for mention in ask.mentions for entity in mention.entities}
        entities |= {entity.id: entity for entity in ask.neighbours}
        if view is None:
            return EntityNeighbours(entities.get)
        return EntityNeighbours(lambda id: entities.get(id) or view.entity(id))

    def neighbours(
        self, ids: Sequence[str], hops: int, fan_out: int, max_entities: int
    ) -> Mapping[str, Entity]:
        """Return the entities that facts lead to from `ids` in fewer than `hops` steps, `ids` first.

        Args:
            ids: Entities to start from.
            hops: Largest number of facts on a path.
            fan_out: Facts of one entity that are followed, the first ones. All of them are returned.
            max_entities: Largest number of entities; those that come later are left out.
        """
        around = Neighbourhood(ids, Reach(hops, fan_out, max_entities))
        while around.frontier:
            around.advance({id: self._find(id) for id in around.frontier})
        return around.entities
