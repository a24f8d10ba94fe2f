"""The source of a question's sub-graph: entities that are looked up by their ids, a hop at a time."""

from collections.abc import Callable, Mapping, Sequence

from models.graph.in_edges import InEdge, in_edges_of_entities, interleave
from models.graph.knowledge import Entity
from models.graph.neighbours import Neighbourhood, Reach
from models.graph.view import GraphView
from models.system import Ask


class EntityNeighbours:
    """Neighbours of entities, from anything that finds an entity by its id.

    Args:
        find: Returns the entity with an id; None if there is none.
    """

    def __init__(
        self,
        find: Callable[[str], Entity | None],
        find_in_edges: Callable[[str], Sequence[InEdge]] = lambda id: (),
    ) -> None:
        self._find = find
        self.in_edges = find_in_edges

    @staticmethod
    def of_entities(entities: Mapping[str, Entity]) -> "EntityNeighbours":
        """Read a graph of these entities alone, by their ids."""
        in_edges = in_edges_of_entities(entities.values())
        return EntityNeighbours(entities.get, lambda id: in_edges.get(id, ()))

    @staticmethod
    def of_view(view: GraphView) -> "EntityNeighbours":
        """Read base and edits of a view; rows of imports are not in it."""
        return EntityNeighbours(view.entity, view.in_edges)

    @staticmethod
    def of_ask(ask: Ask, view: GraphView | None) -> "EntityNeighbours":
        """Read what the service put into a question, and what that lacks from base and edits of the view.

        The service reads within the same bounds (`Neighbourhood`), so nothing is lacking but for a caller in Python who
        fills `mentions` alone.
        """
        entities = {entity.id: entity for mention in ask.mentions for entity in mention.entities}
        entities |= {entity.id: entity for entity in ask.neighbours}
        within = EntityNeighbours.of_entities(entities)
        if view is None:
            return within
        return EntityNeighbours(
            lambda id: entities.get(id) or view.entity(id),
            lambda id: interleave((*within.in_edges(id), *view.in_edges(id))),
        )

    def neighbours(
        self, ids: Sequence[str], hops: int, fan_out: int, max_entities: int, fan_in: int = 0
    ) -> Mapping[str, Entity]:
        """Return the entities that facts lead to from `ids` in fewer than `hops` steps, `ids` first.

        Args:
            hops: Largest number of facts on a path.
            fan_out: Facts of one entity that are followed, the first ones. All of them are returned.
            max_entities: Largest number of entities; those that come later are left out.
        """
        around = Neighbourhood(ids, Reach(hops, fan_out, max_entities, fan_in))
        while around.frontier:
            in_edges = {id: self.in_edges(id) for id in around.frontier} if fan_in else {}
            around.advance({id: self._find(id) for id in around.frontier}, in_edges)
        return around.entities
