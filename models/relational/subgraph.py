"""The neighbourhood of a question's entities as a typed graph: nodes, edges with relations, and the facts cut.

specs/rules.md, section 9: facts are edges, entities are nodes, and attention runs over existing edges only.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from models.graph.in_edges import InEdge, in_edges_of_entities, interleave
from models.graph.knowledge import Entity, Fact
from models.graph.neighbours import Neighbourhood, Reach
from models.graph.view import GraphView
from models.relational.network import Config
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


@dataclass(frozen=True, slots=True)
class Node:
    """An entity, or a text or number that is the object of a fact."""

    id: str  # id of the entity; "" for a text or a number
    label: str  # what people call it; the answer, where a path ends here


@dataclass(frozen=True, slots=True)
class Edge:
    """One fact, in the direction in which it is walked."""

    source: int  # place of the subject among the nodes; of the object where the edge is inverse
    target: int  # place of the object among the nodes; of the subject where the edge is inverse
    fact: Fact  # the fact about the subject
    is_inverse: bool = False  # whether the edge leads from object to subject
    basis: tuple["Edge", ...] = ()  # the facts from which rules infer it

    @property
    def label(self) -> str:
        """Return what an encoder reads of the relation in the direction in which it is walked."""
        return inverse_label(self.fact.label) if self.is_inverse else self.fact.label

    @property
    def subject(self) -> int:
        """Return the place of the subject."""
        return self.target if self.is_inverse else self.source

    @property
    def object(self) -> int:
        """Return the place of the object."""
        return self.source if self.is_inverse else self.target


@dataclass(frozen=True, slots=True)
class Cut:
    """Facts that the bounds of the sub-graph left out."""

    node: str  # label of the entity
    n_facts: int  # how many of its facts, or of the facts about it, were left out
    # `fan_out` (the entity has too many facts), `fan_in` (there are too many about it) or `max_nodes` (the sub-graph
    # is full)
    reason: str


@dataclass(frozen=True)
class Subgraph:
    """Immutable; equal sub-graphs give equal answers."""

    nodes: tuple[Node, ...]  # breadth first, those that the question names in front
    edges: tuple[Edge, ...]  # in the order of their subjects, then of the graph
    # Entity id -> place, of the entities that the question names and that there is room for
    starts: Mapping[str, int]
    cuts: tuple[Cut, ...] = ()  # what the bounds left out

    @cached_property
    def leaving(self) -> Mapping[int, Mapping[str, tuple[int, ...]]]:
        """Return node -> label -> places of the edges that leave it: a reader cannot tell two of one label apart."""
        edges: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for place, edge in enumerate(self.edges):
            edges[edge.source][edge.label].append(place)
        return {
            node: {label: tuple(places) for label, places in by_label.items()}
            for node, by_label in edges.items()
        }


def inverse_label(label: str) -> str:
    """Return what an encoder reads of a relation that is walked from object to subject."""
    return f"thing whose {label} it is"


def build_subgraph(graph: EntityNeighbours, starts: Sequence[Entity], config: Config) -> Subgraph:
    """Gather what lies at most `config.hops` facts away from the entities that a question names."""
    distinct = {entity.id: entity for entity in starts}
    ids = list(distinct)[: config.max_nodes]
    neighbours = graph.neighbours(ids, config.hops, config.fan_out, config.max_nodes, config.fan_in)
    entities = {**distinct, **neighbours}
    builder = _Builder(config)
    for id in ids:
        builder.place(id, entities[id].label)
    distance = dict.fromkeys(ids, 0)
    queue = list(ids)
    for id in queue:
        if id in entities and distance[id] < config.hops:
            edges_back = graph.in_edges(id) if config.fan_in else ()
            for target in (
                *builder.add(entities[id]),
                *builder.add_inverse(entities[id], edges_back, entities),
            ):
                if target not in distance:
                    distance[target] = distance[id] + 1
                    queue.append(target)
    nodes = tuple(Node(*node) for node in builder.nodes)
    cuts = [Cut(entity.label, entity.degree, "max_nodes") for entity in list(distinct.values())[len(ids) :]]
    places = {id: builder.places[id] for id in ids}
    return Subgraph(nodes, tuple(builder.edges), places, (*builder.cuts, *cuts))


class _Builder:
    """Nodes and edges as they are gathered."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.nodes: list[tuple[str, str]] = []
        self.places: dict[str, int] = {}
        self.edges: list[Edge] = []
        self.cuts: list[Cut] = []

    def place(self, id: str, label: str) -> int | None:
        """Return the place of a node, a new one if need be; None if there is no room. A text is no other's node."""
        key = id or f"\0{label}"
        if key not in self.places:
            if len(self.nodes) == self._config.max_nodes:
                return None
            self.places[key] = len(self.nodes)
            self.nodes.append((id, label))
        return self.places[key]

    def add(self, entity: Entity) -> list[str]:
        """Add the facts of an entity; return the ids that they lead to."""
        facts = [fact for fact in entity.facts if fact.label.strip() and fact.object.strip()]
        facts_in_reach, targets = facts[: self._config.fan_out], list[str]()
        n_without_room = 0
        for fact in facts_in_reach:
            target = self.place(fact.object_id, fact.object)
            if target is None:
                n_without_room += 1
                continue
            self.edges.append(Edge(self.places[entity.id], target, fact))
            targets += [fact.object_id] if fact.object_id else []
        counts = {"fan_out": len(facts) - len(facts_in_reach), "max_nodes": n_without_room}
        self._note_cuts(entity, counts)
        return targets

    def add_inverse(
        self, entity: Entity, in_edges: Sequence[InEdge], entities: Mapping[str, Entity]
    ) -> list[str]:
        """Add the facts about an entity that hold, as edges to their subjects; return the subjects' ids."""
        subjects: list[str] = []
        n_without_room = 0
        for relation, subject in in_edges[: self._config.fan_in]:
            if subject not in entities:
                n_without_room += (
                    len(entities) >= self._config.max_nodes
                )  # otherwise it is no entity at this version
                continue
            for fact in entities[subject].facts:
                if (fact.relation, fact.object_id) != (relation, entity.id) or not fact.label.strip():
                    continue
                target = self.place(subject, entities[subject].label)
                if target is None:
                    n_without_room += 1
                    continue
                self.edges.append(Edge(self.places[entity.id], target, fact, is_inverse=True))
                subjects.append(subject)
        n_cut = max(0, len(in_edges) - self._config.fan_in) if self._config.fan_in else 0
        self._note_cuts(entity, {"fan_in": n_cut, "max_nodes": n_without_room})
        return subjects

    def _note_cuts(self, entity: Entity, counts: Mapping[str, int]) -> None:
        self.cuts += [Cut(entity.label, count, reason) for reason, count in counts.items() if count]
