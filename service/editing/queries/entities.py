"""Entities at a version: a search by name, and one entity with the history of its facts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from errata.wire import EntityFact, EntityHead, EntityList, EntityState, RemovedFact

from models.graph.blocks import read_manifest, read_statements
from models.graph.knowledge import Entity
from models.graph.statement import SourceStatements, Statement, Value, fold
from models.graph.view import GraphView
from models.memory import Block
from service.editing.draft import EditorState
from service.editing.state_builder import MaterialStore
from service.errors import LedgerCorrupt, NotFound
from service.graph.linking.folding import fold as fold_name
from service.graph.lookup import Lookup, has_name
from service.ledger.commit import IMPORT, EditRecord

MAX_FACTS = 1_000  # facts of one entity in a reply
NAMES_PER_ENTITY = 4  # some entities do not have the name at this version
MAX_NAMES = 10_000  # names that one search reads

Key = tuple[str, str]  # relation and object; the object's id if it has one, for it may have been renamed


@dataclass(frozen=True)
class Entities:
    """The entities of one version."""

    editor_state: EditorState
    materials: MaterialStore
    lookup: Lookup
    view: GraphView  # the graph at `version`
    version: int

    async def search(self, text: str, limit: int) -> EntityList:
        n_names = NAMES_PER_ENTITY * limit
        while True:
            names = self.lookup.linker.complete(text, n_names)
            candidates = await self.lookup.entities({id for _, id in names}, self.view)
            matches = {
                entity.id: entity
                for name, id in names
                if (entity := candidates[id]) is not None and has_name(entity, fold_name(name))
            }
            if len(matches) >= limit or len(names) < n_names or n_names >= MAX_NAMES:
                break
            n_names *= NAMES_PER_ENTITY
        heads = [_head(entity) for entity in list(matches.values())[:limit]]
        return EntityList(version=self.version, entities=heads)

    async def state(self, id: str) -> EntityState:
        """Return an entity with its facts.

        Raises:
            NotFound: There is no such entity at this version.
        """
        entity = await self.lookup.load_entity(id, self.view)
        if entity is None:
            raise NotFound(
                f"there is no entity {id!r} at version {self.version}: look for its name with /v1/entities?q="
            )
        since, removed_facts = await asyncio.to_thread(self._replay, id, await self._statements(id))
        facts = [
            EntityFact(**asdict(fact), added_in=since.get((fact.relation, object_id or text), 0))
            for fact in entity.facts[:MAX_FACTS]
            for text, object_id in (fact.statement_object,)
        ]
        return EntityState(
            **dict(_head(entity)),
            version=self.version,
            facts=facts,
            facts_left_out=max(0, entity.degree - MAX_FACTS),
            removed_facts=removed_facts[:MAX_FACTS],
        )

    def _replay(
        self, id: str, sources: Mapping[str, SourceStatements]
    ) -> tuple[Mapping[Key, int], list[RemovedFact]]:
        """Return the version since which each value holds, and each time that a value was removed, the latest first.

        The entity is folded again at every version that switched one of its edits.
        """
        base = SourceStatements("", self.view.base.statements.get(id, ()))
        before = _values([base])
        since = dict.fromkeys(before, 0)
        removed_facts: list[RemovedFact] = []
        active: set[str] = set()
        for commit in self.editor_state.commits[: self.version]:
            if sources.keys().isdisjoint((*commit.activates, *commit.deactivates)):
                continue
            active = (active - set(commit.deactivates)) | (sources.keys() & set(commit.activates))
            in_order = sorted(active, key=lambda edit: self.editor_state.edits[edit].order)
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

    async def _statements(self, id: str) -> dict[str, SourceStatements]:
        """Return the statements about an entity by the edit that made them, of every edit ever made.

        An import that is damaged and not active cannot be read, and its statements are not needed.
        """
        sources: dict[str, SourceStatements] = {}
        active_imports = {source.edit for source in self.view.imports}
        for edit in self.editor_state.edits.values():
            statements: tuple[Statement, ...] = ()
            if edit.method == IMPORT:
                try:
                    manifest = read_manifest(self._block(edit))
                    statements = await self.lookup.import_statements(manifest, id)
                except LedgerCorrupt:
                    if edit.id in active_imports:
                        raise
            elif edit.triple is not None and edit.triple.subject == id:
                statements = read_statements(self._block(edit)).get(id, ())
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
