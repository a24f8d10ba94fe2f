"""Questions about the facts of the pack, whose graph is real: other paths branch off, meet and lead back."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from models.graph.knowledge import Fact
from models.graph.view import GraphView
from models.relational.config import Config
from models.relational.neighbours import EntityNeighbours
from models.training.relational.compositions import MAX_DRAWS, Compositions
from models.training.relational.examples import ENTITIES, Example, put_names
from models.training.relational.wordings import Wordings
from models.training.texts.relations import RelationText


@dataclass(frozen=True)
class PackQuestions:
    """Draws paths from a graph."""

    view: GraphView  # the graph
    compositions: Compositions  # relations that may be asked for, and sequences that training never sees
    wordings: Wordings  # wordings of the questions
    config: Config  # the bounds of a reader's sub-graph

    @cached_property
    def _ids(self) -> Sequence[str]:
        entities = (self.view.entity(id) for id in sorted(self.view.base.statements))
        return [entity.id for entity in entities if entity is not None and entity.facts]

    def draw(self, n_hops: int, is_held: bool, rng: random.Random) -> Example:
        """Draw a question about a path that the graph has.

        Raises:
            ValueError: The graph has no such path.
        """
        for _ in range(MAX_DRAWS):
            start = rng.choice(self._ids)
            path, ends = self._walk(start, n_hops, rng)
            if len(path) == n_hops and (n_hops == 1 or self._is_held(path) == is_held):
                return self._ask(start, path, ends, rng)
        raise ValueError(f"the graph has no path of {n_hops} hops to ask for")

    def _walk(self, start: str, n_hops: int, rng: random.Random) -> tuple[list[RelationText], list[Fact]]:
        """Follow random relations; each starts at all entities that the previous one reached."""
        path: list[RelationText] = []
        ids, ends = [start], list[Fact]()
        for _ in range(n_hops):
            entities = [entity for id in ids if (entity := self.view.entity(id)) is not None]
            facts = [fact for entity in entities for fact in entity.facts]
            choices = sorted({f.relation for f in facts if f.relation in self.compositions.relations})
            if not choices:
                break
            path.append(self.compositions.relations[rng.choice(choices)])
            ends = [fact for fact in facts if fact.relation == path[-1].id]
            ids = list(dict.fromkeys(fact.object_id for fact in ends if fact.object_id))
        return path, ends

    def _is_held(self, path: Sequence[RelationText]) -> bool:
        return self.compositions.is_held([relation.id for relation in path])

    def _ask(
        self, start: str, path: Sequence[RelationText], ends: Sequence[Fact], rng: random.Random
    ) -> Example:
        source, config = EntityNeighbours.of_view(self.view), self.config
        entities = source.neighbours([start], len(path) + 1, config.fan_out, config.max_nodes, config.fan_in)
        ask, number = put_names(self.wordings.draw(path, ENTITIES, rng), entities[start], None, entities)
        expected = ", ".join(sorted({fact.object for fact in ends}))
        ids, labels = tuple(r.id for r in path), tuple(r.labels[0] for r in path)
        return Example(ask, entities, ids, labels, number, ENTITIES, expected, ())
