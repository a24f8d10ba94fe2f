"""What the unedited graph says of entities, and the rows that say other facts beside it.

The facts of a graph's base are those that the table was trained on. A row is solved from them and from the unedited
table alone, so that it depends on no edit of another entity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from models.graph.base import Base
from models.graph.statement import RELATION
from models.memory import EditRefused
from models.thu_ernie.entities.names import NO_ENTITY, row_name
from models.thu_ernie.entities.solve import solve_facts
from models.thu_ernie.entities.table import EntityTable

MAX_CANDIDATES = 10_000  # objects of a relation that a new one is compared with


@dataclass(frozen=True)
class NewFact:
    """A fact that a row shall say; both are names of rows."""

    entity: str
    relation: str
    object: str


@dataclass(frozen=True)
class GraphFacts:
    """The facts of a graph by the names of rows.

    Attributes:
        by_entity: Entity -> its relations, each with its objects.
        by_relation: Relation -> the objects that it has anywhere.
    """

    by_entity: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    by_relation: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @staticmethod
    def of(base: Base) -> "GraphFacts":
        """Read the base of a graph."""
        by_entity: dict[str, dict[str, list[str]]] = {}
        by_relation: dict[str, dict[str, None]] = {}
        for id, statements in base.statements.items():
            for relation, text, object_id, _ in statements:
                if relation.startswith("@"):
                    continue
                name = row_name(text, object_id)
                by_entity.setdefault(id, {}).setdefault(relation, []).append(name)
                by_relation.setdefault(relation, {})[name] = None
        return GraphFacts(by_entity, {relation: tuple(names) for relation, names in by_relation.items()})


@dataclass(frozen=True)
class FactSolver:
    """Solves rows against the unedited table.

    Attributes:
        table: The table.
        facts: What the base of the graph says.
        margin: Lead of a new fact over its rivals.
    """

    table: EntityTable
    facts: GraphFacts
    margin: float

    def solve(self, news: Sequence[NewFact]) -> Float[Tensor, " size"] | EditRefused:
        """Return the row with which an entity says new facts, the later of two of one relation, and all its others.

        Args:
            news: Facts of one entity, at least one.
        """
        entity = news[0].entity
        unknown = [
            name for fact in news for name in (fact.object, RELATION + fact.relation) if not self._has(name)
        ]
        if unknown:
            return EditRefused(
                "unknown_entity",
                f"the table has no row of {', '.join(unknown)}: give the row of {entity} as a vector or a mean",
            )
        fresh = {fact.relation: [fact.object] for fact in news}
        facts = {
            relation: [name for name in names if self._has(name)]
            for relation, names in {**self.facts.by_entity.get(entity, {}), **fresh}.items()
            if self._has(RELATION + relation)
        }
        steps = {relation: self._row(RELATION + relation) for relation in facts}
        objects = {relation: self._rows(names) for relation, names in facts.items() if names}
        if self._has(entity):
            row = self._row(entity)
        else:
            row = torch.stack([self._rows(facts[r]).mean(0) - steps[r] for r in objects]).mean(0)
        candidates = {
            relation: self._rows(
                [n for n in self.facts.by_relation.get(relation, ()) if self._has(n)][:MAX_CANDIDATES]
            )
            for relation in fresh
        }
        return solve_facts(row, steps, objects, candidates, self.margin)

    def _has(self, name: str) -> bool:
        return self.table.names.row_of(name) != NO_ENTITY

    def _row(self, name: str) -> Float[Tensor, " size"]:
        return self._rows([name])[0]

    def _rows(self, names: Sequence[str]) -> Float[Tensor, "name size"]:
        return self.table.look_up(
            torch.tensor([self.table.names.row_of(name) for name in names], dtype=torch.long)
        )
