"""Turns the rows of a file into statements about entities: names are resolved, and rejected rows are counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from models.graph.base import to_words
from models.graph.knowledge import Entity
from models.graph.statement import ALIAS, DESCRIPTION, LABEL
from models.graph.view import GraphView
from service.errors import Ambiguous, InvalidInput, TooLarge
from service.graph.formats.ntriples import is_unnamed
from service.graph.formats.row import Rejection, Row
from service.graph.imports.comparison import MAX_COMPARED, FileFact
from service.graph.imports.spool import PARTS, ImportLimits, Spool
from service.graph.linking.linker import Linker
from service.graph.linking.words import unlinkable
from service.graph.lookup import NAME_ID_PREFIX
from service.graph.name_resolution import ambiguous_name, id_from_name, resolve_relation

MAX_RELATIONS = 2_000  # relations of a file that its commit names
MAX_LISTED = 100  # rejected lines that are listed with their reasons

EntitiesByName = Callable[[Sequence[str]], Mapping[str, Sequence[Entity]]]

OPAQUE = re.compile(r"(?:https?://\S+/)?P\d+", re.ASCII)  # an id of a Wikibase's property, which has no words


@dataclass
class Counts:
    """Counts of one file; rejections and skipped rows by reason, and the first `rejected_lines` in full."""

    triples: int = 0
    rejections: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    rejected_lines: list[Mapping[str, Any]] = field(default_factory=list)

    def reject(self, line: int, code: str, reason: str) -> None:
        self.rejections[code] += 1
        if len(self.rejected_lines) < MAX_LISTED:
            self.rejected_lines.append({"line": line, "code": code, "reason": reason})


class RowResolver:
    """Takes the rows of one file and spools statements.

    Attributes:
        labels: Labels of entities that the file knows by id.
        same_as: Entities of Wikidata that things of the file are said to be.
        n_joined: Number of those that the graph has.
        relations: The file's relations, with their labels, "" where it gives none.
        is_compared: Whether these are all facts of the file.
        has_names: Whether the file gives labels, aliases or descriptions, or new labels of relations.
        objects_by_name: Whether the text of an object may name an entity; False for a file with ids.
    """

    def __init__(
        self,
        view: GraphView,
        linker: Linker,
        entities_by_name: EntitiesByName,
        linker_is_current: bool,
        limits: ImportLimits,
        sets_undefined: bool = False,
    ) -> None:
        """Resolve names against a version of the graph.

        Args:
            linker: The names of now; it does not change, while others link the names of their imports.
            linker_is_current: Whether the linker knows names of that version only.
            sets_undefined: Whether a value takes the place of others where the relation does not say how many it holds,
                as a cell of a table does.
        """
        self._view, self._linker, self._linker_is_current = view, linker, linker_is_current
        self._entities_by_name = entities_by_name
        self._max_names, self._sets_undefined = limits.names, sets_undefined
        self.spool = Spool(limits.disk_bytes // 2)
        self.objects_by_name = True
        self.counts = Counts()
        self.labels: dict[str, str] = {}
        self.same_as: dict[str, str] = {}
        self.n_joined = 0
        self.relations: dict[str, str] = {}
        self.ids_by_name: dict[str, str] = {}
        self.facts: list[FileFact] = []
        self.aside: Mapping[str, str] = {}  # ids whose statements are left out, with the reason
        self.is_compared = True
        self.has_names = False
        self._ambiguous_names: dict[str, Ambiguous] = {}
        self._bearers_by_name: dict[str, Sequence[Entity]] = {}
        self._graph_ids: set[str] = set()  # ids of the graph's entities that the file names
        self._last_cell, self._is_last_dated = ("", ""), False  # subject and relation of the last row
        self._dated_cells: set[tuple[str, str]] = set()  # some cells that have dated values
        self._relation_cache: dict[str, tuple[str, str]] = {}

    def prefetch(self, rows: Sequence[Row | Rejection]) -> None:
        """Look up the names of these rows that the linker cannot resolve, all at once, before the rows are added."""
        names = {row.subject for row in rows if isinstance(row, Row) and not row.by_id}
        if self.objects_by_name and not (self._linker_is_current and not self._view.edits):
            names |= {row.object for row in rows if isinstance(row, Row) and row.kind == "fact"}
        unsure = []
        for name in names:
            if name not in self.ids_by_name:
                ids = self._linker.resolve(name)
                if ids and not self._is_sure(ids):
                    unsure.append(name)
        self._bearers_by_name = dict(self._entities_by_name(unsure)) if unsure else {}

    def add(self, row: Row | Rejection) -> None:
        if isinstance(row, Rejection):
            self.counts.reject(row.line, row.code, row.reason)
            return
        try:
            if row.kind == "relation_label":
                relation, _ = self._relation(row.subject)
                if row.yields and self.relations.get(relation):
                    self.counts.skipped[row.yields] += 1
                    return
                self.relations[relation] = row.object
                self.has_names |= self._view.label(relation) != row.object
                return
            if len(self.labels) + len(self.ids_by_name) + len(self.same_as) > self._max_names:
                raise TooLarge(
                    f"one import may give {self._max_names:,} names: import the file in several parts",
                    limit=self._max_names,
                )
            if row.kind == "same_as":
                self.same_as.setdefault(row.subject, row.object_id)
                return
            is_fact = row.kind == "fact"
            relation, act = self._relation(row.relation if is_fact else row.kind)
            if relation == ALIAS and (reason := unlinkable(row.object)):
                if is_fact:
                    raise InvalidInput(f"{row.object!r} cannot be an alias: {reason}")
                self.counts.skipped["unlinkable_alias"] += 1
                return
            subject = row.subject if row.by_id else self._entity(row.subject)
            if row.kind == "label":
                if is_alias := row.yields == "other_name" and not unlinkable(row.object):
                    self._add(row, subject, ALIAS, row.object, "add")
                if row.yields and subject in self.labels:
                    self.counts.skipped[row.yields] += not is_alias
                    return
                self.labels[subject] = row.object
            if row.kind == "description" and row.yields:
                act = "default"
            objects = (row.object, *row.further)
            if row.further and self._view.cardinality(relation) == "one" and self._view.is_defined(relation):
                objects = (" ".join(objects),)
            for n, text in enumerate(objects):
                self._add(row, subject, relation, text, act if n == 0 else "add")
        except (Ambiguous, InvalidInput) as error:
            self.counts.reject(row.line, error.code, error.detail)

    def _add(self, row: Row, subject: str, relation: str, text: str, act: str) -> None:
        is_fact, object_id = row.kind == "fact", row.object_id
        if is_fact and self.objects_by_name and not object_id:
            # An object whose name belongs to a single entity becomes that entity.
            object_id = self.ids_by_name.get(text, "")
            if not object_id and len(candidates := self._linker.resolve(text)) == 1:
                object_id = self._only_bearer(text, candidates) or ""
        cell, is_dated = (subject, relation), bool(row.qualifiers)
        if act == "set":
            is_next = cell == self._last_cell and (is_dated or self._is_last_dated)
            if is_next or cell in self._dated_cells:
                act = "add"  # a relation that holds one value holds one at a time
            elif is_dated and len(self._dated_cells) < MAX_COMPARED:
                self._dated_cells.add(cell)
        self._last_cell, self._is_last_dated = cell, is_dated
        self.spool.add((subject, relation, text, object_id, act, *row.details))
        self.counts.triples += is_fact
        if not is_fact or relation.startswith("@"):
            self.has_names = True
        elif len(self.facts) < MAX_COMPARED or subject in self._view.edits:
            self.facts.append(
                FileFact(row.line, subject, relation, text, object_id, act, row.qualifiers, row.source)
            )
        else:
            self.is_compared = False

    def set_aside(self, relations: Mapping[str, str], aside: Mapping[str, str]) -> None:
        """Name relations by their labels, and leave out statements about them, the ids `aside` and nameless nodes."""
        for id, relation in relations.items():
            is_listed = relation in self.relations or len(self.relations) < MAX_RELATIONS
            if is_listed and (label := self.labels.get(id)):
                self.relations[relation] = self.relations.get(relation) or label
        self.aside = dict.fromkeys(relations, "about_relation") | dict(aside)
        facts = (fact for fact in self.facts if fact.subject not in self.aside)
        self.facts = [fact for fact in facts if not is_unnamed(self.labels, fact.subject, fact.object_id)]

    def join(self, present: Set[str]) -> None:
        """Take things for the entities that they are said to be, as far as the graph or the file has those.

        A label of a thing becomes another name of the entity, and a description yields to its own.
        """
        ids = {id: same for id, same in self.same_as.items() if same in present or same in self.labels}
        self.n_joined = len(ids)
        self.counts.skipped["no_such_entity"] += len(self.same_as) - len(ids)
        if not ids:
            return
        self._graph_ids |= present
        spool, self.spool = self.spool, Spool(self.spool.max_bytes)
        try:
            for entity, relation, text, object_id, act, *details in chain.from_iterable(
                map(spool.read_part, range(PARTS))
            ):
                subject = ids.get(entity, entity)
                if entity in ids and relation == LABEL:
                    if unlinkable(text):
                        continue
                    relation, act = ALIAS, "add"
                elif entity in ids and relation == DESCRIPTION:
                    act = "default"
                self.spool.add((subject, relation, text, ids.get(object_id, object_id), act, *details))
        finally:
            spool.close()
        self.facts = [
            replace(
                fact,
                subject=ids.get(fact.subject, fact.subject),
                object_id=ids.get(fact.object_id, fact.object_id),
            )
            for fact in self.facts
        ]

    @property
    def new_names(self) -> list[str]:
        return [name for name, id in self.ids_by_name.items() if id not in self._graph_ids]

    @property
    def new_relations(self) -> list[str]:
        return [relation for relation in self.relations if relation not in self._view.relations]

    @property
    def nameless_relations(self) -> list[str]:
        """Ids among the relations for which neither the file nor the graph has a name."""
        bare = (relation for relation, label in self.relations.items() if not label)
        return [r for r in bare if OPAQUE.fullmatch(r) and self._view.label(r) in (r, to_words(r))]

    def has_entity(self, entity: str, label: str) -> bool:
        view = self._view
        if entity in view.base.statements or entity in view.edits or entity in self._graph_ids:
            return True
        if entity.startswith(NAME_ID_PREFIX):
            return False
        ids = self._linker.resolve(label) if label and view.imports else ()
        return entity in ids and (
            self._linker_is_current or any(e.id == entity for e in self._bearers(label))
        )

    def _relation(self, name: str) -> tuple[str, str]:
        """Return the name of a relation in the graph, and the act of its statements."""
        cached = self._relation_cache.get(name)
        if cached is None:
            relation = resolve_relation(name, self._view)
            is_table = self._sets_undefined and not self._view.is_defined(relation)
            act = "set" if is_table or self._view.cardinality(relation) == "one" else "add"
            cached = self._relation_cache[name] = relation, act
            if not relation.startswith("@") and len(self.relations) < MAX_RELATIONS:
                self.relations.setdefault(relation, "")
        return cached

    def _entity(self, name: str) -> str:
        """Return the entity with this name, or a new one that has the name as its label."""
        if name in self._ambiguous_names:
            raise self._ambiguous_names[name]
        id = self.ids_by_name.get(name)
        if id is None:
            candidates = self._linker.resolve(name)
            try:
                known_id = self._only_bearer(name, candidates) if candidates else None
            except Ambiguous as error:
                self._ambiguous_names[name] = error
                raise
            if known_id is not None:
                self._graph_ids.add(known_id)
            id = self.ids_by_name[name] = known_id or id_from_name(name)
            self.spool.add((id, LABEL, name, "", "default"))
        return id

    def _only_bearer(self, name: str, candidates: Sequence[str]) -> str | None:
        """Return the entity that has the name at this version, if any; raise Ambiguous if several have it."""
        if self._is_sure(candidates):
            return candidates[0]
        bearers = self._bearers(name)
        if len(bearers) > 1:
            raise ambiguous_name(name, bearers, "subject")
        return bearers[0].id if bearers else None

    def _is_sure(self, candidates: Sequence[str]) -> bool:
        """Return whether the linker alone can resolve the name: no edit can have removed the name of its entity."""
        return len(candidates) == 1 and self._linker_is_current and candidates[0] not in self._view.edits

    def _bearers(self, name: str) -> Sequence[Entity]:
        bearers = self._bearers_by_name.get(name)
        return self._entities_by_name([name])[name] if bearers is None else bearers
