"""The graph at one version: base, edits and imports, ready to be read entity by entity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from models.graph.base import Base
from models.graph.blocks import Manifest
from models.graph.in_edges import InEdge, interleave
from models.graph.knowledge import Entity
from models.graph.statement import (
    HOLDS,
    LABEL,
    OWN_HOLDS,
    RELATION,
    Cardinality,
    SourceStatements,
    Statement,
    fold_entity,
)

EditsInOrder: TypeAlias = tuple[tuple[int, SourceStatements], ...]
"""The place of an edit in the ledger, and what it says of an entity."""


@dataclass(frozen=True)
class ActiveImport:
    """An import that is active. order: its place in the ledger. edit: its id."""

    order: int
    edit: str
    manifest: Manifest


@dataclass(frozen=True, eq=False)
class GraphView:
    """Immutable.

    edits: entity id -> what edits say of it, in the ledger's order. imports: in that order, too.
    new_labels: of entities that edits gave one. in_edges_of_edits: object's id -> edges that edits gave it.
    """

    base: Base
    edits: Mapping[str, EditsInOrder] = field(default_factory=dict)
    imports: tuple[ActiveImport, ...] = ()
    new_labels: Mapping[str, str] = field(default_factory=dict)
    in_edges_of_edits: Mapping[str, tuple[InEdge, ...]] = field(default_factory=dict)

    def entity(self, id: str, rows: Mapping[str, tuple[Statement, ...]] | None = None) -> Entity | None:
        """The entity at this version; None when there is none. What is said of a relation makes none.

        Args:
            rows: edit id of an import -> what it says of this entity, for the imports that say something.
        """
        if id.startswith(RELATION):
            return None
        base = self.base.statements.get(id)
        sources = list(self.edits.get(id, ()))
        if rows:
            sources += [
                (active.order, SourceStatements(active.edit, rows[active.edit]))
                for active in self.imports
                if active.edit in rows
            ]
            sources.sort(key=lambda pair: pair[0])
        in_order = [SourceStatements("", base)] if base else []
        in_order += [source for _, source in sources]
        return fold_entity(id, in_order, self.label, self.new_labels)

    def in_edges(self, id: str, rows: Iterable[tuple[Statement, ...]] = ()) -> tuple[InEdge, ...]:
        """Return where facts about an entity may be found, those of edits in front; see `models.graph.in_edges`.

        Args:
            id: The entity that is their object.
            rows: What each active import lists for this entity: statements with the subject in the object's place.
        """
        of_edits, of_base = self.in_edges_of_edits.get(id, ()), self.base.in_edges.get(id, ())
        of_imports = (InEdge(row.relation, row.object_id) for statements in rows for row in statements)
        return interleave((*of_edits, *of_base, *of_imports))

    def label(self, relation: str) -> str:
        """How people call a relation: as the newest edit says, else the newest import, else the base."""
        label = self._about_relation(relation, LABEL)
        labels = (active.manifest.relations.get(relation) for active in reversed(self.imports))
        return label or next(filter(None, labels), "") or self.base.label(relation)

    def cardinality(self, relation: str) -> Cardinality:
        """How many values it holds for one subject; of what an entity is called it is fixed."""
        if relation in OWN_HOLDS:
            return OWN_HOLDS[relation]
        holds = self._about_relation(relation, HOLDS)
        if holds == "one":
            return "one"
        return "many" if holds == "many" else self.base.cardinality(relation)

    def is_defined(self, relation: str) -> bool:
        """Whether the base or somebody said how many values it holds."""
        is_own = relation in OWN_HOLDS or relation in self.base.relations
        return is_own or bool(self._about_relation(relation, HOLDS))

    @cached_property
    def relations(self) -> Set[str]:
        """Of the base, and of what edits say."""
        sources = (source for pairs in self.edits.values() for _, source in pairs)
        names = {statement.relation for source in sources for statement in source.statements}
        return {*self.base.relations, *(name for name in names if not name.startswith("@"))}

    def _about_relation(self, relation: str, property: str) -> str:
        """What edits say of the relation itself; "" where nothing."""
        value = ""
        for _, source in self.edits.get(RELATION + relation, ()):
            for statement in source.statements:
                if statement.relation == property:
                    value = "" if statement.act == "remove" else statement.object
        return value
