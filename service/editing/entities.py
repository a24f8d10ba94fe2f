"""Entities as they are read: searched by name, and one with its facts, since when each holds, and what was removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errata.wire import EntityFact, EntityHead, EntityList, EntityState, RemovedFact

from models.graph.blocks import manifest_in, told_in
from models.graph.knowledge import Entity
from models.graph.memory import GRAPH
from models.graph.statement import Said, Value, fold
from models.graph.view import GraphView
from service.editing.importing import METHOD as IMPORT
from service.editing.materials import Library
from service.editing.present import Present
from service.errors import NotFound
from service.graph.lookup import Lookup
from service.ledger.commit import EditRecord

MOST_FACTS = 1_000  # of one entity that are told
MORE = 4  # names looked at for each entity that is wanted: some are not borne at this version

Key = tuple[str, str]  # relation and object


@dataclass(frozen=True)
class Entities:
    """view: the graph at `version`."""

    present: Present
    library: Library
    lookup: Lookup
    view: GraphView
    version: int

    async def search(self, text: str, limit: int) -> EntityList:
        names = self.lookup.linker.complete(text, MORE * limit)
        ids = list(dict.fromkeys(id for _, id in names))
        found = await self.lookup.entities(ids, self.view)
        heads = [_head(one) for one in (found[id] for id in ids) if one is not None]
        return EntityList(version=self.version, entities=[EntityHead(**head) for head in heads[:limit]])

    async def state(self, id: str) -> EntityState:
        """NotFound when there is no such entity at this version."""
        entity = await self.lookup.whole(id, self.view)
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
                added=added.get((fact.relation, fact.object), 0),
            )
            for fact in entity.facts[:MOST_FACTS]
        ]
        left_out = max(0, entity.degree - MOST_FACTS)
        return EntityState(
            **_head(entity),
            version=self.version,
            facts=facts,
            facts_left_out=left_out,
            removed=removed[:MOST_FACTS],
        )

    async def _history(self, id: str) -> tuple[Mapping[Key, int], list[RemovedFact]]:
        """Since when each value holds, and those that held once: folded anew wherever something changed."""
        base = self.view.base.told.get(id, ())
        told = await self._told(id)
        added: dict[Key, int] = {}
        removed: dict[Key, RemovedFact] = {}
        before: Mapping[Key, Value] = _values([Said("", base)])
        added.update(dict.fromkeys(before, 0))
        for version, active in self._switched(set(told)):
            said = [Said("", base), *(Said(edit, told[edit].statements) for edit in active)]
            after = _values(said)
            for key in before.keys() - after.keys():
                removed[key] = self._removed(key, before[key], added.pop(key), version)
            for key in after.keys() - before.keys():
                added[key] = version
                removed.pop(key, None)
            before = after
        return added, sorted(removed.values(), key=lambda one: (-one.removed, one.relation, one.object))

    async def _told(self, id: str) -> dict[str, Said]:
        """What every edit ever made says of the entity."""
        records = [edit for edit in self.present.edits.values() if edit.memory == GRAPH]
        own = [one for one in records if one.triple is not None and one.triple.subject == id]
        told = {one.id: self._block(one) for one in own}
        found = {edit: Said(edit, said[id]) for edit, block in told.items() if id in (said := told_in(block))}
        for one in records:
            if one.method == IMPORT:
                statements = await self.lookup.imported(manifest_in(self._block(one)), id)
                if statements:
                    found[one.id] = Said(one.id, statements)
        return found

    def _block(self, edit: EditRecord) -> Any:
        return self.library.of([edit])[0].block

    def _switched(self, relevant: set[str]) -> Iterator[tuple[int, Sequence[str]]]:
        """Versions up to this one where one of these edits was switched, and those that are active then, in order."""
        active: set[str] = set()
        order = {id: self.present.edits[id].order for id in relevant}
        for commit in self.present.commits[: self.version]:
            if relevant.isdisjoint(commit.activates) and relevant.isdisjoint(commit.deactivates):
                continue
            active = (active - set(commit.deactivates)) | (relevant & set(commit.activates))
            yield commit.version, sorted(active, key=order.__getitem__)

    def _removed(self, key: Key, value: Value, added: int, removed: int) -> RemovedFact:
        return RemovedFact(
            relation=key[0],
            label=self.view.label(key[0]),
            object=key[1],
            object_id=value.object_id,
            edit=value.edit,
            added=added,
            removed=removed,
        )


def _values(said: Sequence[Said]) -> dict[Key, Value]:
    return {
        (relation, text): value
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
