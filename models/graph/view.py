"""The graph at one version: base, edits and imports, ready to be read entity by entity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from models.graph.base import Base
from models.graph.blocks import Manifest
from models.graph.knowledge import Entity
from models.graph.statement import (
    HOLDS,
    LABEL,
    OWN_HOLDS,
    RELATION,
    Cardinality,
    SourceStatements,
    Statement,
    entity,
)

Ordered: TypeAlias = tuple[
    tuple[int, SourceStatements], ...
]  # the place of an edit in the ledger, and what it says


@dataclass(frozen=True)
class ActiveImport:
    """An import that is active. order: its place in the ledger. edit: its id."""

    order: int
    edit: str
    manifest: Manifest


@dataclass(frozen=True, eq=False)
class GraphView:
    """Immutable. edits: entity id -> what edits say of it, in the ledger's order. imports: in that order, too."""

    base: Base
    edits: Mapping[str, Ordered] = field(default_factory=dict)
    imports: tuple[ActiveImport, ...] = ()
    new_labels: Mapping[str, str] = field(default_factory=dict)

    def entity(self, id: str, rows: Mapping[str, tuple[Statement, ...]] | None = None) -> Entity | None:
        """The entity at this version; None when there is none. What is said of a relation makes none.

        rows: edit id of an import -> what it says of this entity, for the imports that say something.
        """
        if id.startswith(RELATION):
            return None
        return entity(id, self._said(id, rows or {}), self.label, self.new_labels)

    def label(self, relation: str) -> str:
        """How people call a relation."""
        return (
            self._of_relation(relation, LABEL) or self._imported_label(relation) or self.base.label(relation)
        )

    def cardinality(self, relation: str) -> Cardinality:
        """How many values it holds for one subject; of what an entity is called it is fixed."""
        if relation in OWN_HOLDS:
            return OWN_HOLDS[relation]
        settled = self._of_relation(relation, HOLDS)
        if settled == "one":
            return "one"
        return "many" if settled == "many" else self.base.cardinality(relation)

    def _imported_label(self, relation: str) -> str:
        found = (one.manifest.relations.get(relation, "") for one in reversed(self.imports))
        return next(filter(None, found), "")

    def _of_relation(self, relation: str, what: str) -> str:
        found = ""
        for _, said in self.edits.get(RELATION + relation, ()):
            for statement in said.statements:
                if statement.relation == what:
                    found = "" if statement.act == "remove" else statement.object
        return found

    def _said(self, id: str, rows: Mapping[str, tuple[Statement, ...]]) -> Sequence[SourceStatements]:
        base = self.base.statements.get(id)
        first = [SourceStatements("", base)] if base else []
        later = list(self.edits.get(id, ()))
        if rows:
            later += [
                (one.order, SourceStatements(one.edit, rows[one.edit]))
                for one in self.imports
                if one.edit in rows
            ]
            later.sort(key=lambda pair: pair[0])
        return first + [said for _, said in later]
