"""The unedited graph's facts about entities, and the rows that hold other facts.

The facts of a graph's base are those that the table was trained on. A row is solved from them and from the unedited
table alone, so that it depends on no edit of another entity.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch
from jaxtyping import Float
from more_itertools import map_reduce
from torch import Tensor

from models.graph.base import Base
from models.graph.knowledge import Entity
from models.graph.statement import RELATION
from models.memory import EditRefused
from models.thu_ernie.entities.solve import mean_row, solve_facts
from models.thu_ernie.entities.table import NO_ENTITY, EntityTable, row_name

MAX_FACTS = 24  # facts of an entity whose row follows their edits; a solution takes some 20 ms then
MAX_SOLVED = 1 << 12  # rows that are kept
MAX_CANDIDATES = 10_000  # objects of a relation that a new one is compared with


@dataclass(frozen=True)
class NewFact:
    """A fact that a row shall say; both are names of rows."""

    entity: str
    relation: str
    object: str


@dataclass(frozen=True)
class GraphFacts:
    """The facts of a graph by the names of rows."""

    by_entity: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    by_relation: Mapping[str, Sequence[str]] = field(default_factory=dict)  # objects that it has anywhere

    @staticmethod
    def of(base: Base) -> "GraphFacts":
        """Read the base of a graph."""
        by_entity: dict[str, dict[str, list[str]]] = {}
        by_relation: dict[str, dict[str, None]] = {}
        for id, statements in base.statements.items():
            for relation, text, object_id, *_ in statements:
                if relation.startswith("@"):
                    continue
                name = row_name(text, object_id)
                by_entity.setdefault(id, {}).setdefault(relation, []).append(name)
                by_relation.setdefault(relation, {})[name] = None
        return GraphFacts(by_entity, {relation: tuple(names) for relation, names in by_relation.items()})


@dataclass(frozen=True)
class FactSolver:
    """Solves rows against the unedited table."""

    table: EntityTable
    facts: GraphFacts
    margin: float  # lead of a new fact over its rivals

    def solve(self, news: Sequence[NewFact]) -> Float[Tensor, " size"] | EditRefused:
        """Return the row with which an entity says new facts, the later of two of one relation, and all its others."""
        entity = news[0].entity
        unknown = [
            name for fact in news for name in (fact.object, RELATION + fact.relation) if not self._has(name)
        ]
        if unknown:
            return EditRefused(
                "unknown_entity",
                f"the table has no row of {', '.join(unknown)}: give the row of {entity} as a vector",
            )
        fresh = {fact.relation: [fact.object] for fact in news}
        facts = {**self.facts.by_entity.get(entity, {}), **fresh}
        row = self._solve(entity, facts, list(fresh))
        assert row is not None, "the rows of the new facts are there"
        return row

    def solve_edited(self, entity: Entity) -> Float[Tensor, " size"] | None:
        """Return the row of an entity that says its facts as edits have changed them.

        It is None where no edit changed a fact whose rows are known, or where the entity has more than MAX_FACTS.
        """
        fresh = [fact.relation for fact in entity.facts if fact.edit]
        return self._solve_cached(entity) if fresh and len(entity.facts) <= MAX_FACTS else None

    @cached_property
    def _solve_cached(self) -> Callable[[Entity], Tensor | None]:
        return lru_cache(MAX_SOLVED)(self._solve_entity)

    def _solve_entity(self, entity: Entity) -> Tensor | None:
        facts = map_reduce(
            entity.facts, lambda fact: fact.relation, lambda fact: row_name(fact.object, fact.object_id)
        )
        return self._solve(entity.id, facts, [fact.relation for fact in entity.facts if fact.edit])

    def _solve(
        self, entity: str, facts: Mapping[str, Sequence[str]], fresh: Sequence[str]
    ) -> Float[Tensor, " size"] | None:
        """Return the row that says some facts, those of the relations `fresh` by the margin."""
        names_by_relation = {
            relation: [name for name in names if self._has(name)]
            for relation, names in facts.items()
            if self._has(RELATION + relation)
        }
        objects = {relation: self._rows(names) for relation, names in names_by_relation.items() if names}
        steps = {relation: self._row(RELATION + relation) for relation in objects}
        candidates = {
            relation: self._candidates(relation, objects) for relation in fresh if relation in objects
        }
        if not candidates:
            return None
        if self._has(entity):
            row = self._row(entity)
        else:
            places = [mean_row(rows) - steps[relation] for relation, rows in objects.items()]
            row = mean_row(torch.stack(places))
        return solve_facts(row, steps, objects, candidates, self.margin)

    def _candidates(
        self, relation: str, objects: Mapping[str, Float[Tensor, "_ size"]]
    ) -> Float[Tensor, "candidate size"]:
        """Return the rows of all objects of a relation; its own row if it has none."""
        names = [name for name in self.facts.by_relation.get(relation, ()) if self._has(name)]
        return self._rows(names[:MAX_CANDIDATES]) if names else objects[relation]

    def _has(self, name: str) -> bool:
        return self.table.row_of(name) != NO_ENTITY

    def _row(self, name: str) -> Float[Tensor, " size"]:
        return self._rows([name])[0]

    def _rows(self, names: Sequence[str]) -> Float[Tensor, "name size"]:
        return self.table.look_up(torch.tensor([self.table.row_of(name) for name in names], dtype=torch.long))
