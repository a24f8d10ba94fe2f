"""The builder of the editor's states: the next one from commits or from a draft, and any older one on request.

Each fold is checked against the checksum that the ledger recorded. Where they differ, the recorded rows are loaded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from operator import itemgetter

from cachetools import LRUCache
from more_itertools import map_reduce

from models.blocks import block_key
from models.memory import Grows, Material, View
from service.editing.draft import Build, Draft, EditorState, MemoriesAtVersion
from service.editing.models import MemoryAtVersion, Models, ModelsAtVersion
from service.errors import UnknownModel
from service.ledger import fold
from service.ledger.commit import Commit, EditRecord
from service.ledger.snapshots import advance, read_newer
from service.ledger.store import RedisLedger
from service.process_memory import give_back_memory
from service.single_flight import SingleFlight

OLD_VERSIONS = 4  # versions kept for comparison
log = logging.getLogger(__name__)
NO_DRAFT = Draft(fold.Change((), ()))


class MaterialStore:
    """Materials by edit, loaded with the commits, so that old versions can be folded while Redis is away."""

    def __init__(self, ledger: RedisLedger) -> None:
        self._ledger = ledger
        self._materials: dict[str, Material] = {}

    def add(self, materials: Iterable[Material]) -> None:
        self._materials.update((material.edit, material) for material in materials)

    async def load(self, edits: Iterable[EditRecord]) -> None:
        missing = [edit for edit in edits if edit.id not in self._materials]
        entries = [(block_key(edit.id), edit.order, edit.material) for edit in missing]
        for edit, block in zip(missing, await self._ledger.blocks(entries), strict=True):
            self._materials[edit.id] = Material(edit.id, edit.method, block, edit.notes)

    def of(self, edits: Iterable[EditRecord]) -> list[Material]:
        return [self._materials[edit.id] for edit in edits]


class StateBuilder:
    """Folds memories and assembles models. The base and the newest version are not built again."""

    def __init__(self, ledger: RedisLedger, models: Models) -> None:
        self._ledger, self._models = ledger, models
        self.materials = MaterialStore(ledger)
        self._base: MemoriesAtVersion = {}
        self._old: LRUCache[int, tuple[frozenset[str], MemoriesAtVersion, ModelsAtVersion]] = LRUCache(
            OLD_VERSIONS
        )
        self._views: LRUCache[tuple[str, int], View] = LRUCache(OLD_VERSIONS)
        self._view_flights = SingleFlight[View](1)  # builds at a time: the editor's one thread is for edits

    async def caught_up(self, state: EditorState | None) -> EditorState:
        """Return the state with the commits of other writers; the same object if there are none.

        Where a memory folds to another checksum than the ledger recorded, the recorded rows are loaded.

        Raises:
            LedgerCorrupt: The recorded rows do not have the recorded checksum either.
        """
        current = state or EditorState(
            (), {}, frozenset(), await self._bases(), self._assemble(await self._bases())
        )
        if await self._ledger.head() == current.version:
            return current
        commits = await read_newer(self._ledger, current.version, current.digest)
        edits = fold.edits(commits)
        await self.materials.load(edit for edit in edits.values() if edit.memory in self._models.memories)
        names = {memory for commit in commits for memory in commit.writes} & self._models.memories.keys()
        ids = fold.active_ids(commits, current.active)
        active = [edit for key, edit in {**current.edits, **edits}.items() if key in ids]
        memories = dict(await self._fold(active, names, current.memories))
        for name in names:
            last = [commit for commit in commits if name in commit.writes][-1]
            if memories[name].image.checksum != last.writes[name].checksum:
                # A program that computes rows in another way wrote these, such as an older Errata. The next commit of
                # the memory writes its rows as they are folded here.
                log.warning("%s folds to other rows than version %d recorded", name, commits[-1].version)
                images = await advance({name: current.memories[name].image}, commits, self._ledger)
                memories[name] = await self._models.view(name, images[name])
        fresh = self.followed_by(current, commits, memories)
        if state is None:
            await give_back_memory()
        return fresh

    def followed_by(
        self,
        state: EditorState,
        commits: Sequence[Commit],
        memories: MemoriesAtVersion,
        models: ModelsAtVersion | None = None,
    ) -> EditorState:
        """Return the state after `commits`, from their folded memories and, if they are there, the models."""
        return EditorState(
            (*state.commits, *(commit.packed() for commit in commits)),
            {**state.edits, **fold.edits(commits)},
            fold.active_ids(commits, state.active),
            memories,
            models or self._assemble(memories, state.models),
        )

    async def build(self, state: EditorState, draft: Draft) -> Build:
        """Return every memory and model with the draft; those that it does not change are the state's own objects."""
        old_edits = [state.edits[key] for key in draft.switched_ids if key in state.edits]
        for edit in (*old_edits, *draft.records):
            if edit.model not in state.models:
                raise UnknownModel(
                    f"the commit is about {edit.model!r}, which is not served here: serve it first"
                )
            if edit.memory not in state.memories:
                raise UnknownModel(
                    f"the commit wrote {edit.memory!r}, which no model that is served here reads: serve one that does"
                )
        names = {edit.memory for edit in (*old_edits, *draft.records)}
        memories = dict(state.memories)
        if not draft.change.deactivates and not old_edits:
            names -= await self._grow(memories, draft)
        if names:
            memories = dict(await self._fold(state.active_edits(draft.change), names, memories, draft))
        return Build(state, draft, memories, self._assemble(memories, state.models))

    async def _grow(self, memories: dict[str, MemoryAtVersion], draft: Draft) -> set[str]:
        """Add the draft's edits to each memory that can grow, and return the names of these memories.

        Such a memory does not fold its other edits again.
        """
        pairs = zip(draft.records, draft.materials, strict=True)
        by_memory = map_reduce(pairs, lambda pair: pair[0].memory, itemgetter(1))
        complete = set()
        for name, materials in sorted(by_memory.items()):
            memory = self._models.memories[name]
            if isinstance(memory, Grows):
                image = await self._models.run(memory.grow, memories[name].image, materials)
                if image is not None:
                    memories[name] = await self._models.view(name, image)
                    complete.add(name)
        return complete

    async def state_at(self, state: EditorState, version: int) -> EditorState:
        if version == state.version:
            return state
        if version not in self._old:
            active = await asyncio.to_thread(state.active_at, version)
            memories = await self._fold(active, self._models.memories, await self._bases())
            self._old[version] = frozenset(edit.id for edit in active), memories, self._assemble(memories)
        return EditorState(state.commits[:version], state.edits, *self._old[version])

    async def view_at(self, state: EditorState, version: int, memory: str) -> View:
        if version == state.version:
            return state.memories[memory].view
        key = memory, version
        if key not in self._views:

            async def build() -> View:
                active = await asyncio.to_thread(state.active_at, version)
                return (await self._fold(active, [memory], await self._bases()))[memory].view

            self._views[key] = await self._view_flights.get(key, build)
        return self._views[key]

    async def _bases(self) -> MemoriesAtVersion:
        if not self._base:
            memories = self._models.memories
            self._base = {
                name: await self._models.view(name, memory.base) for name, memory in memories.items()
            }
        return self._base

    async def _fold(
        self,
        active: Sequence[EditRecord],
        names: Iterable[str],
        before: MemoriesAtVersion,
        draft: Draft = NO_DRAFT,
    ) -> MemoriesAtVersion:
        """Return `before` with the memories of these names folded from the active edits and from the draft's."""
        by_memory = map_reduce(active, lambda edit: edit.memory)
        memories = dict(before)
        fresh = list(zip(draft.records, draft.materials, strict=True))
        for name in sorted(names):
            materials = self.materials.of(by_memory.get(name, []))
            materials += [material for record, material in fresh if record.memory == name]
            image = await self._models.run(self._models.memories[name].fold, materials)
            if before[name].image.delta_to(image):
                memories[name] = await self._models.view(name, image)
        return memories

    def _assemble(
        self, memories: MemoriesAtVersion, before: ModelsAtVersion | None = None
    ) -> ModelsAtVersion:
        """Return every model; a model whose memories are all in `before` is the object from there, with its cache."""
        models = {}
        for name in self._models.names:
            model = self._models.assemble(name, memories)
            old = before[name] if before else None
            same = old is not None and all(
                old.memories[key] is memory for key, memory in model.memories.items()
            )
            models[name] = old if old is not None and same else model
        return models
