"""Entities at a version: a search by name, and one entity with the history of its facts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from errata.wire import EntityFact, EntityHead, EntityList, EntityState, RemovedFact

from models.graph.blocks import read_manifest, read_statements
from models.graph.knowledge import Entity
from models.graph.statement import SourceStatements, Statement, Value, fold
from models.graph.view import GraphView
from models.memory import Block
from service.editing.draft import EditorState
from service.editing.operations import FindEntities, GetEntity
from service.editing.state_builder import MaterialStore
from service.errors import LedgerCorrupt, NotFound
from service.graph.linking.words import fold as fold_name
from service.graph.lookup import Lookup, has_name
from service.ledger.commit import IMPORT, EditRecord

if TYPE_CHECKING:
    from service.editing.editor import Editor

MAX_FACTS = 1_000  # facts of one entity in a reply
NAMES_PER_ENTITY = 4  # some entities do not have the name at this version
MAX_NAMES = 10_000  # names that one search reads

Key = tuple[str, str]  # relation and object; the object's id if it has one, for it may have been renamed


@FindEntities.handler
async def find_entities(editor: Editor, call: FindEntities) -> EntityList:
    view, version = await editor.graph_at(call.version)
    lookup, n_names = editor.models.lookup, NAMES_PER_ENTITY * call.limit
    while True:
        names = lookup.linker.complete(call.text, n_names)
        candidates = await lookup.entities({id for _, id in names}, view)
        matches = {
            entity.id: entity
            for name, id in names
            if (entity := candidates[id]) is not None and has_name(entity, fold_name(name))
        }
        if len(matches) >= call.limit or len(names) < n_names or n_names >= MAX_NAMES:
            break
        n_names *= NAMES_PER_ENTITY
    return EntityList(version=version, entities=list(map(_head, list(matches.values())[: call.limit])))


@GetEntity.handler
async def get_entity(editor: Editor, call: GetEntity) -> EntityState:
    view, version = await editor.graph_at(call.version)
    lookup, state = editor.models.lookup, await editor.pipeline.at_hand()
    entity = await lookup.load_entity(call.id, view)
    if entity is None:
        raise NotFound(
            f"there is no entity {call.id!r} at version {version}: look for its name with /v1/entities?q="
        )
    history = _History(call.id, state, editor.builder.materials, lookup, view, version)
    since, removed_facts = await asyncio.to_thread(history.replay, await history.read())
    facts = [
        EntityFact(**asdict(fact), added_in=since.get((fact.relation, object_id or text), 0))
        for fact in entity.facts[:MAX_FACTS]
        for text, object_id in (fact.statement_object,)
    ]
    return EntityState(
        **dict(_head(entity)),
        version=version,
        facts=facts,
        facts_left_out=max(0, entity.degree - MAX_FACTS),
        removed_facts=removed_facts[:MAX_FACTS],
    )


@dataclass(frozen=True)
class _History:
    """The statements of one entity up to a version."""

    id: str
    state: EditorState
    materials: MaterialStore
    lookup: Lookup
    view: GraphView  # the graph at `version`
    version: int

    def replay(self, sources: Mapping[str, SourceStatements]) -> tuple[Mapping[Key, int], list[RemovedFact]]:
        """Return the version since which each value holds, and each time that a value was removed, the latest first.

        The entity is folded again at every version that switched one of its edits.
        """
        base = SourceStatements("", self.view.base.statements.get(self.id, ()))
        before = _values([base])
        since = dict.fromkeys(before, 0)
        removed_facts: list[RemovedFact] = []
        active: set[str] = set()
        for commit in self.state.commits[: self.version]:
            if sources.keys().isdisjoint((*commit.activates, *commit.deactivates)):
                continue
            active = (active - set(commit.deactivates)) | (sources.keys() & set(commit.activates))
            in_order = sorted(active, key=lambda edit: self.state.edits[edit].order)
            after = _values([base, *(sources[edit] for edit in in_order)])
            removed_facts += (
                RemovedFact(
                    relation=key[0],
                    label=self.view.label(key[0]),
                    object=value.object,
                    object_id=value.object_id,
                    edit=value.edit,
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
        sources: dict[str, SourceStatements] = {}
        active_imports = {source.edit for source in self.view.imports}
        for edit in self.state.edits.values():
            statements: tuple[Statement, ...] = ()
            if edit.method == IMPORT:
                try:
                    manifest = read_manifest(self._block(edit))
                    statements = await self.lookup.import_statements(manifest, self.id)
                except LedgerCorrupt:
                    if edit.id in active_imports:
                        raise
            elif edit.triple is not None and edit.triple.subject == self.id:
                statements = read_statements(self._block(edit)).get(self.id, ())
            if statements:
                sources[edit.id] = SourceStatements(edit.id, statements)
        return sources

    def _block(self, edit: EditRecord) -> Block:
        return self.materials.of([edit])[0].block


def _values(sources: Sequence[SourceStatements]) -> dict[Key, Value]:
    return {
        (relation, value.object_id or text): value
        for relation, values in fold(sources).items()
        if not relation.startswith("@")
        for text, value in values.items()
    }


def _head(entity: Entity) -> EntityHead:
    return EntityHead.model_validate(entity, from_attributes=True)
