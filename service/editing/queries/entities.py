"""Entities at a version: a search by name, one entity with the history of its facts, and all as a table."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING

from errata import wire
from more_itertools import map_reduce

from models.blocks import Block
from models.graph.blocks import read_manifest, read_statements
from models.graph.knowledge import Entity, Fact, WholeEntity
from models.graph.statement import RELATION, SourceStatements, Statement, Value, fold
from models.graph.view import GraphView
from service.editing.draft import EditorState
from service.editing.operations import FindEntities, GetEntity, ListRelations, MakeTable
from service.editing.state_builder import MaterialStore
from service.errors import ErrataError, InvalidInput, LedgerCorrupt, NotFound, TooLarge
from service.graph.formats.table import MAX_COLUMNS, header_name
from service.graph.linking.words import name_key
from service.graph.lookup import Lookup, is_identifier
from service.graph.name_resolution import resolve_relation
from service.ledger.commit import IMPORT, EditRecord

if TYPE_CHECKING:
    from service.editing.editor import Editor

MAX_FACTS = 1_000  # facts of one entity in a reply
NAMES_PER_ENTITY = 4  # some entities do not have the name at this version
MAX_NAMES = 10_000  # names that one search reads

# Relation, object (its id if it has one, for it may have been renamed), begin, point in time and unit
Key = tuple[str, ...]


@FindEntities.handler
async def find_entities(editor: Editor, call: FindEntities) -> wire.EntityList:
    view, version = await editor.graph_at(call.version)
    lookup, n_names = editor.models.lookup, NAMES_PER_ENTITY * call.limit
    while True:
        names = lookup.linker.complete(call.text, n_names)
        bearers = await lookup.find_bearers(names, view)
        matches = {entity.id: entity for pair in names if (entity := bearers.get(pair)) is not None}
        if len(matches) >= call.limit or len(names) < n_names or n_names >= MAX_NAMES:
            break
        n_names *= NAMES_PER_ENTITY
    return wire.EntityList(version=version, entities=list(map(_head, list(matches.values())[: call.limit])))


@GetEntity.handler
async def get_entity(editor: Editor, call: GetEntity) -> wire.EntityState:
    view, version = await editor.graph_at(call.version)
    lookup, state = editor.models.lookup, await editor.pipeline.at_hand()
    entity = await lookup.load_entity(call.id, view)
    if entity is None:
        raise NotFound(
            f"there is no entity {call.id!r} at version {version}: look for its name with /v1/entities?q="
        )
    history = _History(call.id, state, editor.builder.materials, lookup, view, version)
    since, removed_facts = await asyncio.to_thread(history.replay, await history.read())
    n_removed, removed_facts = len(removed_facts), removed_facts[:MAX_FACTS]
    ids = {fact.object_id for fact in removed_facts if is_identifier(fact.object, fact.object_id)}
    labels = await lookup.labels(ids, view)
    facts = [
        wire.EntityFact(**asdict(fact), added_in=since.get(_key(fact.relation, object_id or text, fact), 0))
        for fact in entity.facts[:MAX_FACTS]
        for text, object_id in (fact.statement_object,)
    ]
    return wire.EntityState(
        **dict(_head(entity)),
        version=version,
        facts=facts,
        facts_left_out=max(0, entity.degree - MAX_FACTS),
        removed_facts=[
            fact.model_copy(update={"object": labels.get(fact.object_id) or fact.object})
            for fact in removed_facts
        ],
        removed_facts_left_out=n_removed - len(removed_facts),
    )


@dataclass(frozen=True)
class _History:
    id: str
    state: EditorState
    materials: MaterialStore
    lookup: Lookup
    view: GraphView  # the graph at `version`
    version: int

    def replay(
        self, sources: Mapping[str, SourceStatements]
    ) -> tuple[Mapping[Key, int], list[wire.RemovedFact]]:
        """Return the version since which each value holds, and each time that a value was removed, the latest first.

        The entity is folded again at every version that switched one of its edits.
        """
        base = SourceStatements("", self.view.base.statements.get(self.id, ()))
        before = _values([base])
        since = dict.fromkeys(before, 0)
        removed_facts: list[wire.RemovedFact] = []
        active: set[str] = set()
        for commit in self.state.commits[: self.version]:
            if sources.keys().isdisjoint((*commit.activates, *commit.deactivates)):
                continue
            active = (active - set(commit.deactivates)) | (sources.keys() & set(commit.activates))
            in_order = sorted(active, key=lambda edit: self.state.edits[edit].order)
            after = _values([base, *(sources[edit] for edit in in_order)])
            removed_facts += (
                wire.RemovedFact(
                    relation=key[0],
                    label=self.view.label(key[0]),
                    object=value.object,
                    object_id=value.object_id,
                    edit=value.edit,
                    begin=value.begin,
                    end=value.end,
                    time=value.time,
                    unit=value.unit,
                    rank=value.rank,
                    added_in=since.pop(key),
                    removed_in=commit.version,
                )
                for key, value in before.items()
                if key not in after
            )
            since |= dict.fromkeys(after.keys() - before.keys(), commit.version)
            before = after
        return since, sorted(removed_facts, key=lambda fact: (-fact.removed_in, fact.relation, fact.object))

    async def read(self) -> dict[str, SourceStatements]:
        """Return the statements about an entity by the edit that made them, of every edit ever made.

        An import that is damaged and not active cannot be read, and its statements are not needed.
        """
        by_subject = await asyncio.to_thread(lambda: self.state.edits_by_subject)
        imports = [edit for edit in by_subject.get("", ()) if edit.method == IMPORT]
        edits = by_subject.get(self.id, ())
        statements = [
            *await asyncio.gather(*map(self._read_import, imports)),
            *(read_statements(self._block(edit)).get(self.id, ()) for edit in edits),
        ]
        sources = zip([*imports, *edits], statements, strict=True)
        return {edit.id: SourceStatements(edit.id, part) for edit, part in sources if part}

    async def _read_import(self, edit: EditRecord) -> tuple[Statement, ...]:
        try:
            return await self.lookup.import_statements(read_manifest(self._block(edit)), self.id)
        except LedgerCorrupt:
            if edit.id in {source.edit for source in self.view.imports}:
                raise
            return ()

    def _block(self, edit: EditRecord) -> Block:
        return self.materials.of([edit])[0].block


def _values(sources: Sequence[SourceStatements]) -> dict[Key, Value]:
    return {
        _key(relation, value.object_id or value.object, value): value
        for relation, values in fold(sources).items()
        if not relation.startswith("@")
        for value in values.values()
    }


def _key(relation: str, object: str, value: Value | Fact) -> Key:
    return relation, object, value.begin, value.time, value.unit


def _head(entity: Entity) -> wire.EntityHead:
    return wire.EntityHead.model_validate(entity, from_attributes=True)


MAX_ROWS = 50_000


@ListRelations.handler
async def list_relations(editor: Editor, call: ListRelations) -> wire.RelationList:
    view, version = await editor.graph_at(call.version)
    relations = [
        wire.GraphRelation(
            relation=relation,
            label=view.label(relation),
            holds=view.cardinality(relation) if view.is_defined(relation) else None,
        )
        for relation in view.relations
    ]
    return wire.RelationList(
        version=version, relations=sorted(relations, key=lambda r: (r.label.casefold(), r.relation))
    )


@MakeTable.handler
async def make_table(editor: Editor, call: MakeTable) -> wire.GraphTable:
    query, lookup = call.query, editor.models.lookup
    view, version = await editor.graph_at(query.version)
    n_imported = sum(active.manifest.entities for active in view.imports)
    if n_imported > MAX_ROWS:
        raise TooLarge(
            f"imports name {n_imported:,} entities, and a table has {MAX_ROWS:,} at most", limit=MAX_ROWS
        )
    ids = {id for id in view.edits if not id.startswith(RELATION)}
    for active in view.imports:
        ids |= await lookup.list_ids(active.manifest)
    candidates = await lookup.entities(ids, view)
    conditions = {read_condition(text, view) for text in query.where}
    present = [entity for entity in candidates.values() if entity is not None]
    current = [WholeEntity(entity.at(date.today().isoformat())) for entity in present]
    entities = [
        entity
        for entity in current
        if entity.facts and conditions <= {(f.relation, name_key(f.object)) for f in entity.facts}
    ]
    rows, left_out = leave_out_namesakes(
        sorted(entities, key=lambda entity: (name_key(entity.label), entity.id))
    )
    n_past = sum(entity.degree for entity in present) - sum(entity.degree for entity in current)
    left_out += [f"facts that are not current are left out: {n_past:,}"] if n_past else []
    headings, other = name_columns(rows, query.subject, view)
    left_out += other
    if len(headings) >= MAX_COLUMNS:
        raise InvalidInput(
            f"the table would have {len(headings) + 1} columns, and {MAX_COLUMNS} are the most: "
            "choose its things with `where`",
            field="where",
        )
    return wire.GraphTable(
        version=version,
        columns=[query.subject, *headings.values()],
        rows=[[entity.label, *_cells(entity, headings)] for entity in rows],
        left_out=left_out,
    )


def read_condition(text: str, view: GraphView) -> tuple[str, str]:
    relation, equals, value = text.partition("=")
    if not equals or not relation.strip() or not value.strip():
        raise InvalidInput(f"{text!r} is no condition: write RELATION=VALUE", field="where")
    return resolve_relation(relation.strip(), view), name_key(value.strip())


def leave_out_namesakes(entities: Sequence[WholeEntity]) -> tuple[list[WholeEntity], list[str]]:
    """Return the entities whose name is their own, and a sentence on each name that several have."""
    times = Counter(name_key(entity.label) for entity in entities)
    shared = dict.fromkeys(entity.label for entity in entities if times[name_key(entity.label)] > 1)
    sentences = [f"several things are called {label!r}: their rows are left out" for label in shared]
    return [entity for entity in entities if times[name_key(entity.label)] == 1], sentences


def name_columns(
    entities: Iterable[WholeEntity], subject: str, view: GraphView
) -> tuple[dict[str, str], list[str]]:
    """Return the heading of each relation, the most used first, and a sentence on each that cannot have one.

    A heading is the relation's label where an import would take it for this relation, and otherwise its name.
    """
    headings: dict[str, str] = {}
    names = {header_name(subject)}
    sentences: list[str] = []
    uses = Counter(fact.relation for entity in entities for fact in entity.facts)
    for relation, _ in uses.most_common():
        for heading in (view.label(relation), relation):
            with suppress(ErrataError):
                if header_name(heading) not in names and resolve_relation(heading, view) == relation:
                    headings[relation] = heading
                    names.add(header_name(heading))
                    break
        else:
            sentences.append(f"another column is called {view.label(relation)!r}: {relation!r} is left out")
    return headings, sentences


def _cells(entity: WholeEntity, headings: Mapping[str, str]) -> list[str]:
    values = map_reduce(entity.facts, lambda fact: fact.relation, lambda fact: fact.object)
    return ["\n".join(dict.fromkeys(values.get(relation, ()))) for relation in headings]
