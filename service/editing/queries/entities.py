"""Entities at a version: a search by name, one with the history of its facts, and the relations that facts have."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from errata import wire

from models.blocks import Block
from models.graph.blocks import read_manifest, read_statements
from models.graph.knowledge import Entity, Fact
from models.graph.statement import SourceStatements, Statement, Value, fold
from models.graph.view import GraphView
from service.editing.draft import EditorState
from service.editing.operations import FindEntities, GetEntity, ListRelations
from service.editing.state_builder import MaterialStore
from service.errors import LedgerCorrupt, NotFound
from service.graph.lookup import Lookup, is_identifier
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
    heads = list(map(_head, list(matches.values())[: call.limit]))
    ids = [entity.id for entity in await lookup.entities_named(call.text, view)]
    return wire.EntityList(version=version, entities=heads, bearers=ids)


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
                    source=value.source,
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
