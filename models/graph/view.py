"""The graph at one version: base, edits and imports, ready to be read entity by entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
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
    fold,
    fold_entity,
)

EditsInOrder: TypeAlias = tuple[tuple[int, SourceStatements], ...]
"""The place of an edit in the ledger, and what it says of an entity."""


@dataclass(frozen=True)
class ActiveImport:
    """An import that is active."""

    order: int  # its place in the ledger
    edit: str  # id of the edit that imported it
    manifest: Manifest  # place and digests of its rows


@dataclass(frozen=True, eq=False)
class GraphView:
    """The graph at one version. It never changes."""

    base: Base  # the graph before any edit
    # Entity id -> statements of edits about it, in the ledger's order
    edits: Mapping[str, EditsInOrder] = field(default_factory=dict)
    imports: tuple[ActiveImport, ...] = ()  # active imports, in the ledger's order
    new_labels: Mapping[str, str] = field(default_factory=dict)  # labels that edits gave entities, by id
    # Object's id -> edges that edits gave it
    in_edges_of_edits: Mapping[str, tuple[InEdge, ...]] = field(default_factory=dict)

    def entity(self, id: str, rows: Mapping[str, tuple[Statement, ...]] | None = None) -> Entity | None:
        """Return the entity at this version; None when there is none. Statements about a relation make no entity.

        Args:
            rows: Edit id of an import -> its statements about this entity, for the imports that have any.
        """
        if id.startswith(RELATION):
            return None
        return fold_entity(id, self._sources(id, rows or {}), self.label, self.new_labels)

    def label_of(self, id: str, rows: Mapping[str, tuple[Statement, ...]]) -> str:
        """Return the label of an entity at this version, "" without one; `rows` as for `entity`."""
        names = (
            SourceStatements(source.edit, tuple(s for s in source.statements if s.relation == LABEL))
            for source in self._sources(id, rows)
        )
        labels = fold(names).get(LABEL)
        return next(reversed(labels.values())).object if labels else ""

    def _sources(self, id: str, rows: Mapping[str, tuple[Statement, ...]]) -> list[SourceStatements]:
        """Return the statements about an entity in the ledger's order, those of the base in front."""
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
        return in_order + [source for _, source in sources]

    @cached_property
    def newest_names(self) -> int:
        """Return the place of the newest import that may name entities of others; -1 without one."""
        return max((active.order for active in self.imports if active.manifest.has_names), default=-1)

    def places(self, id: str) -> dict[str, int]:
        """Return the places in the ledger of the imports, and of the edits about an entity, by their ids."""
        places = {active.edit: active.order for active in self.imports}
        return places | {source.edit: place for place, source in self.edits.get(id, ())}

    def in_edges(self, id: str, rows: Iterable[tuple[Statement, ...]] = ()) -> tuple[InEdge, ...]:
        """Return the places of facts about an entity, those of edits in front; see `models.graph.neighbours`."""
        of_edits, of_base = self.in_edges_of_edits.get(id, ()), self.base.in_edges.get(id, ())
        of_imports = (InEdge(row.relation, row.object_id) for statements in rows for row in statements)
        return interleave((*of_edits, *of_base, *of_imports))

    def label(self, relation: str) -> str:
        """Return the label of a relation: the newest edit's, or else the newest import's, or else the base's."""
        label = self._about_relation(relation, LABEL)
        labels = (active.manifest.relations.get(relation) for active in reversed(self.imports))
        return label or next(filter(None, labels), "") or self.base.label(relation)

    def cardinality(self, relation: str) -> Cardinality:
        """Return how many values a relation holds for one subject; for the names of an entity it is fixed."""
        if relation in OWN_HOLDS:
            return OWN_HOLDS[relation]
        holds = self._about_relation(relation, HOLDS)
        if holds == "one":
            return "one"
        return "many" if holds == "many" else self.base.cardinality(relation)

    def is_defined(self, relation: str) -> bool:
        """Return whether the base or an edit says how many values a relation holds; no import does."""
        is_own = relation in OWN_HOLDS or relation in self.base.relations
        return is_own or bool(self._about_relation(relation, HOLDS))

    def is_defined_by_edits(self, id: str) -> bool:
        """Return whether only edits say that there is this entity: one of them defined it, with its name."""
        statements = (statement for _, source in self.edits.get(id, ()) for statement in source.statements)
        is_named = any(s.relation == LABEL and s.act in ("add", "default") for s in statements)
        return is_named and id not in self.base.statements

    @cached_property
    def relations(self) -> Set[str]:
        """Return the relations of the base, of edits and of imports, those that are only defined among them."""
        of_imports = (relation for active in self.imports for relation in active.manifest.relations)
        return {*self.base.relations, *self.edited_relations, *of_imports, *self._described_relations}

    @cached_property
    def edited_relations(self) -> Set[str]:
        """Return the relations of which edits give values."""
        sources = (source for pairs in self.edits.values() for _, source in pairs)
        names = {statement.relation for source in sources for statement in source.statements}
        return {name for name in names if not name.startswith("@")}

    @cached_property
    def relations_by_label(self) -> Mapping[str, Sequence[str]]:
        """Return the relations that are not of the base, by the label without its case, and those with new labels."""
        by_label: dict[str, list[str]] = defaultdict(list)
        for relation in dict.fromkeys((*self._described_relations, *sorted(self.relations))):
            label = self.label(relation)
            if relation not in self.base.relations or label != self.base.label(relation):
                by_label[label.casefold()].append(relation)
        return by_label

    @property
    def _described_relations(self) -> Iterable[str]:
        """Return the relations that edits say something of."""
        return (id.removeprefix(RELATION) for id in self.edits if id.startswith(RELATION))

    def _about_relation(self, relation: str, property: str) -> str:
        """Return the property that edits give the relation itself; "" if they give none."""
        value = ""
        for _, source in self.edits.get(RELATION + relation, ()):
            for statement in source.statements:
                if statement.relation == property:
                    value = "" if statement.act == "remove" else statement.object
        return value
