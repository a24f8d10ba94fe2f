"""From rows of a file to statements about entities: which entity a name means, which relation, what is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.graph.knowledge import Entity
from models.graph.statement import ALIAS, LABEL
from models.graph.view import GraphView
from service.errors import Ambiguous, InvalidInput
from service.graph.formats.row import Rejected, Row
from service.graph.imports.spool import Spool
from service.graph.linking.linker import Linker
from service.graph.linking.words import unlinkable
from service.graph.name_resolution import NAME_ID_PREFIX, ambiguous, id_from_name, resolve_relation

LISTED = 100  # rejected lines that are kept with their reasons

Means = Callable[[Sequence[str]], Mapping[str, Sequence[Entity]]]


@dataclass
class Counts:
    """lines: that were read. listed: the first of those rejected."""

    triples: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    listed: list[Mapping[str, Any]] = field(default_factory=list)

    def reject(self, line: int, code: str, reason: str) -> None:
        self.rejected[code] += 1
        if len(self.listed) < LISTED:
            self.listed.append({"line": line, "code": code, "reason": reason})


class RowResolver:
    """view: the graph that the file is added to. among: which entities bear names at that version.

    trusted: the linker knows names of that version only. labels: of entities that the file knows by id. meant: those
    that it knows by name.
    """

    def __init__(self, view: GraphView, linker: Linker, among: Means, trusted: bool) -> None:
        self._view, self._linker, self._among, self._trusted = view, linker, among, trusted
        self.spool = Spool()
        self.objects_by_name = True  # a file that knows ids does not call objects by names
        self.counts = Counts()
        self.labels: dict[str, str] = {}
        self.relations: dict[str, str] = {}
        self.ids_by_name: dict[str, str] = {}
        self._ambiguous: dict[str, Ambiguous] = {}
        self._named: dict[str, Sequence[Entity]] = {}
        self._there: set[str] = set()
        self._known: dict[str, tuple[str, str]] = {}

    def add(self, row: Row | Rejected) -> None:
        if isinstance(row, Rejected):
            self.counts.reject(row.line, row.code, row.reason)
            return
        try:
            self._add(row)
        except (Ambiguous, InvalidInput) as error:
            self.counts.reject(row.line, error.code, error.detail)

    def prefetch(self, rows: Sequence[Row | Rejected]) -> None:
        """What names of these rows mean, as far as it has to be asked for. Before they are taken."""
        names = {row.subject for row in rows if isinstance(row, Row) and not row.by_id}
        if self.objects_by_name and not (self._trusted and not self._view.edits):
            names |= {row.object for row in rows if isinstance(row, Row) and row.kind == "fact"}
        unsure = [name for name in names if name not in self.ids_by_name and self._is_unsure(name)]
        self._named = dict(self._among(unsure)) if unsure else {}

    def _is_unsure(self, name: str) -> bool:
        ids = self._linker.resolve(name)
        return bool(ids) and not (len(ids) == 1 and self._trusted and ids[0] not in self._view.edits)

    def has_entity(self, entity: str, label: str) -> bool:
        """Whether the graph had this entity before the file."""
        view = self._view
        if entity in view.base.statements or entity in view.edits or entity in self._there:
            return True
        if entity.startswith(NAME_ID_PREFIX):
            return False
        named = self._linker.resolve(label) if label and view.imports else ()
        return entity in named and (self._trusted or self._is_called(entity, label))

    def _is_called(self, entity: str, label: str) -> bool:
        return any(one.id == entity for one in self._bearing(label))

    def _add(self, row: Row) -> None:
        if row.kind == "fact":
            relation, act = self._relation(row.relation)
            if relation == ALIAS and (reason := unlinkable(row.object)):
                raise InvalidInput(f"{row.object!r} cannot be an alias: {reason}")
            subject = row.subject if row.by_id else self._entity(row.subject)
            object_id = row.object_id or (self._object(row.object) if self.objects_by_name else "")
            self.spool.add((subject, relation, row.object, object_id, act))
            self.counts.triples += 1
        elif row.kind == "relation_label":
            self.relations[self._relation(row.subject)[0]] = row.object
        else:
            self._name(row)

    def _name(self, row: Row) -> None:
        if row.kind == "alias" and unlinkable(row.object):
            self.counts.left_out["unlinkable_alias"] += 1
            return
        subject = row.subject if row.by_id else self._entity(row.subject)
        if row.kind == "label":
            self.labels[subject] = row.object
        relation, act = self._relation(row.kind)
        self.spool.add((subject, relation, row.object, "", act))

    def _relation(self, name: str) -> tuple[str, str]:
        """Its name in the graph, and how a value of it is told."""
        known = self._known.get(name)
        if known is None:
            relation = resolve_relation(name, self._view)
            act = "set" if self._view.cardinality(relation) == "one" else "add"
            known = self._known[name] = relation, act
        return known

    def _entity(self, name: str) -> str:
        """The entity with this name; a new one where there is none, with the name as its label."""
        known = self.ids_by_name.get(name)
        if name in self._ambiguous:
            raise self._ambiguous[name]
        if known is None:
            known = self.ids_by_name[name] = self._resolved(name)
            self.spool.add((known, LABEL, name, "", "default"))
        return known

    def _resolved(self, name: str) -> str:
        ids = self._linker.resolve(name)
        try:
            found = self._one(name, ids) if ids else None
        except Ambiguous as error:
            self._ambiguous[name] = error
            raise
        if found is not None:
            self._there.add(found)
        return found or id_from_name(name)

    def _object(self, text: str) -> str:
        """The entity that an object is, where its name is that of one only."""
        known = self.ids_by_name.get(text)
        if known is not None:
            return known
        ids = self._linker.resolve(text)
        return self._one(text, ids) or "" if len(ids) == 1 else ""

    def _one(self, name: str, ids: Sequence[str]) -> str | None:
        """The one that has_name the name at this version. Ambiguous where several do.

        An edit may have taken the name away, so only others are trusted.
        """
        if len(ids) == 1 and self._trusted and ids[0] not in self._view.edits:
            return ids[0]
        named = self._bearing(name)
        if len(named) > 1:
            raise ambiguous(name, named, "subject")
        return named[0].id if named else None

    def _bearing(self, name: str) -> Sequence[Entity]:
        known = self._named.get(name)
        return self._among([name])[name] if known is None else known
