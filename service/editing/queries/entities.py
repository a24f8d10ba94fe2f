"""Entities as they are read: searched by name, and one with its facts, since when each holds, and what was removed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errata.wire import EntityFact, EntityHead, EntityList, EntityState, RemovedFact

from models.graph.blocks import read_manifest, read_statements
from models.graph.knowledge import Entity
from models.graph.memory import GRAPH
from models.graph.statement import SourceStatements, Statement, Value, fold
from models.graph.view import GraphView
from models.memory import Block
from service.editing.state import EditorState, MaterialStore
from service.errors import LedgerCorrupt, NotFound
from service.graph.linking.folding import fold as fold_name
from service.graph.lookup import Lookup, has_name
from service.ledger.commit import IMPORT, EditRecord

MAX_FACTS = 1_000  # of one entity that are told
NAMES_PER_ENTITY = 4  # some entities do not have the name at this version
MAX_NAMES = 10_000  # looked at for one search

Key = tuple[str, str]  # relation and object, by its id where it has one: it may have been renamed


@dataclass(frozen=True)
class Entities:
    """view: the graph at `version`."""

    editor_state: EditorState
    materials: MaterialStore
    lookup: Lookup
    view: GraphView
    version: int

    async def search(self, text: str, limit: int) -> EntityList:
        wanted = NAMES_PER_ENTITY * limit
        while True:
            names = self.lookup.linker.complete(text, wanted)
            found = await self._bearing(names)
            if len(found) >= limit or len(names) < wanted or wanted >= MAX_NAMES:
                break
            wanted *= NAMES_PER_ENTITY
        heads = [EntityHead(**_head(one)) for one in found[:limit]]
        return EntityList(version=self.version, entities=heads)

    async def _bearing(self, names: Sequence[tuple[str, str]]) -> list[Entity]:
        """The entities that bear these names at this version, each once."""
        found = await self.lookup.entities({id for _, id in names}, self.view)
        named = ((found[id], name) for name, id in names)
        borne = {one.id: one for one, name in named if one is not None and has_name(one, fold_name(name))}
        return list(borne.values())

    async def state(self, id: str) -> EntityState:
        """NotFound when there is no such entity at this version."""
        entity = await self.lookup.load_entity(id, self.view)
        if entity is None:
            raise NotFound(
                f"there is no entity {id!r} at version {self.version}: look for its name with /v1/entities?q="
            )
        added, removed = await self._history(id)
        facts = [
            EntityFact(
                relation=fact.relation,
                label=fact.label,
                object=fact.object,
                object_id=fact.object_id,
                edit=fact.edit,
                added_in=added.get((fact.relation, fact.object_id or fact.object), 0),
            )
            for fact in entity.facts[:MAX_FACTS]
        ]
        left_out = max(0, entity.degree - MAX_FACTS)
        return EntityState(
            **_head(entity),
            version=self.version,
            facts=facts,
            facts_left_out=left_out,
            removed_facts=removed[:MAX_FACTS],
        )

    async def _history(self, id: str) -> tuple[Mapping[Key, int], list[RemovedFact]]:
        """Since when each value holds, and those that held once: folded anew wherever something changed."""
        return await asyncio.to_thread(self._folded, id, await self._told(id))

    def _folded(
        self, id: str, told: Mapping[str, SourceStatements]
    ) -> tuple[Mapping[Key, int], list[RemovedFact]]:
        base = self.view.base.statements.get(id, ())
        added: dict[Key, int] = {}
        removed: dict[Key, RemovedFact] = {}
        before: Mapping[Key, Value] = _values([SourceStatements("", base)])
        added.update(dict.fromkeys(before, 0))
        for version, active in self._switched(set(told)):
            said = [
                SourceStatements("", base),
                *(SourceStatements(edit, told[edit].statements) for edit in active),
            ]
            after = _values(said)
            for key in before.keys() - after.keys():
                removed[key] = self._removed(key, before[key], added.pop(key), version)
            for key in after.keys() - before.keys():
                added[key] = version
                removed.pop(key, None)
            before = after
        return added, sorted(removed.values(), key=lambda one: (-one.removed_in, one.relation, one.object))

    async def _told(self, id: str) -> dict[str, SourceStatements]:
        """What every edit ever made says of the entity."""
        records = [edit for edit in self.editor_state.edits.values() if edit.memory == GRAPH]
        own = [one for one in records if one.triple is not None and one.triple.subject == id]
        told = {one.id: self._block(one) for one in own}
        found = {
            edit: SourceStatements(edit, said[id])
            for edit, block in told.items()
            if id in (said := read_statements(block))
        }
        for one in records:
            if one.method == IMPORT and (statements := await self._imported(one, id)):
                found[one.id] = SourceStatements(one.id, statements)
        return found

    async def _imported(self, edit: EditRecord, id: str) -> tuple[Statement, ...]:
        """Of an import that is not in force and is damaged nothing can be told, and nothing needs to be."""
        try:
            return await self.lookup.import_statements(read_manifest(self._block(edit)), id)
        except LedgerCorrupt:
            if edit.id in {one.edit for one in self.view.imports}:
                raise
            return ()

    def _block(self, edit: EditRecord) -> Block:
        return self.materials.of([edit])[0].block

    def _switched(self, relevant: set[str]) -> Iterator[tuple[int, Sequence[str]]]:
        """Versions up to this one where one of these edits was switched, and those that are active then, in order."""
        active: set[str] = set()
        order = {id: self.editor_state.edits[id].order for id in relevant}
        for commit in self.editor_state.commits[: self.version]:
            if relevant.isdisjoint(commit.activates) and relevant.isdisjoint(commit.deactivates):
                continue
            active = (active - set(commit.deactivates)) | (relevant & set(commit.activates))
            yield commit.version, sorted(active, key=order.__getitem__)

    def _removed(self, key: Key, value: Value, added: int, removed: int) -> RemovedFact:
        return RemovedFact(
            relation=key[0],
            label=self.view.label(key[0]),
            object=value.object,
            object_id=value.object_id,
            edit=value.edit,
            added_in=added,
            removed_in=removed,
        )


def _values(said: Sequence[SourceStatements]) -> dict[Key, Value]:
    return {
        (relation, value.object_id or text): value
        for relation, held in fold(said).items()
        if not relation.startswith("@")
        for text, value in held.items()
    }


def _head(entity: Entity) -> dict[str, Any]:
    return {
        "id": entity.id,
        "label": entity.label,
        "aliases": list(entity.aliases),
        "description": entity.description,
        "degree": entity.degree,
    }
