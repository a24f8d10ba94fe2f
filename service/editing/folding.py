"""From active edits to readings: the fold of each model's memory, checked against what the ledger recorded."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from models.graph.memory import GRAPH
from models.graph.view import GraphView
from models.system import Material
from service.concurrency import SingleFlight
from service.editing.systems import Systems
from service.errors import LedgerCorrupt, UnknownModel
from service.ledger import fold
from service.ledger.commit import Commit, EditRecord
from service.ledger.images import newer
from service.ledger.store import Ledger
from service.measuring.draft import Draft
from service.measuring.materials import Library
from service.measuring.present import Present
from service.measuring.reading import Reading

OLD_KEPT = 4  # versions that were compared lately


class Folder:
    """Every version's memories can be had from here; those of the base and of the present cost nothing."""

    def __init__(self, ledger: Ledger, systems: Systems) -> None:
        self._ledger, self._systems = ledger, systems
        self.library = Library(ledger)
        self._bases: dict[str, Reading] = {}
        self._old: OrderedDict[int, Mapping[str, Reading]] = OrderedDict()
        self._graphs: OrderedDict[int, GraphView] = OrderedDict()
        self._builds = SingleFlight[GraphView](1)  # the editor's one thread is for edits

    async def bases(self) -> Mapping[str, Reading]:
        """Every model before any edit."""
        if not self._bases:
            names = self._systems.names
            self._bases = {
                name: await self._systems.compiled(name, self._systems.of(name).base) for name in names
            }
        return self._bases

    async def at(self, present: Present, version: int) -> Mapping[str, Reading]:
        """Every model at an old version."""
        if version == present.version:
            return present.readings
        if version == 0:
            return await self.bases()
        if version not in self._old:
            active = await asyncio.to_thread(present.active_at, version)
            self._old[version] = await self.folded(active, self._systems.bases, await self.bases())
        self._old.move_to_end(version)
        if len(self._old) > OLD_KEPT:
            self._old.popitem(last=False)
        return self._old[version]

    async def graph_at(self, present: Present, version: int) -> GraphView:
        """The graph alone at a version."""
        model = self._systems.on_graph[0]
        if version == present.version:
            now: GraphView = present.readings[model].view
            return now
        if version not in self._graphs:
            found = await self._builds.get(version, lambda: self._graph(present, version, model))
            self._graphs[version] = found
        self._graphs.move_to_end(version)
        if len(self._graphs) > OLD_KEPT:
            self._graphs.popitem(last=False)
        return self._graphs[version]

    async def _graph(self, present: Present, version: int, model: str) -> GraphView:
        active = await asyncio.to_thread(present.active_at, version)
        known = {model: (await self.bases())[model]}
        materials = self.library.of([edit for edit in active if edit.memory == GRAPH])
        image = await self._systems.run(self._systems.of(model).fold, materials)
        reading = known[model]
        if reading.image.delta_to(image):
            reading = await self._systems.compiled(model, image)
        view: GraphView = reading.view
        return view

    async def folded(
        self,
        active: Sequence[EditRecord],
        memories: Iterable[str],
        known: Mapping[str, Reading],
        fresh: Mapping[str, Sequence[Material]] | None = None,
    ) -> dict[str, Reading]:
        """`known`, by model, with these memories folded from the active edits and from fresh materials."""
        mine: dict[str, list[EditRecord]] = defaultdict(list)
        for edit in active:
            mine[edit.memory].append(edit)
        readings = dict(known)
        for memory in memories:
            materials = [*self.library.of(mine[memory]), *(fresh or {}).get(memory, ())]
            for model in self._systems.that_read(memory):
                image = await self._systems.run(self._systems.of(model).fold, materials)
                if known[model].image.delta_to(image):
                    readings[model] = await self._systems.compiled(model, image)
        return readings

    async def with_draft(self, present: Present, draft: Draft) -> dict[str, Reading]:
        """Every memory as it will be. Those without a change are the ones of the present."""
        fresh: dict[str, list[Material]] = defaultdict(list)
        for record, material in zip(draft.records, draft.materials, strict=True):
            fresh[record.memory].append(material)
        switched = present.among((*draft.change.activates, *draft.change.deactivates))
        edits = (*switched, *draft.records)
        for model in sorted({edit.model for edit in edits}):
            if model not in present.readings:
                raise UnknownModel(f"the commit is about {model!r}, which is not served here: serve it first")
        memories = sorted({edit.memory for edit in edits})
        return await self.folded(present.active_edits(draft.change), memories, present.readings, fresh)

    async def caught_up(self, known: Present | None) -> Present:
        """With what others have written; the same object when there is nothing new."""
        present = known or Present.empty(await self.bases())
        if await self._ledger.head() == present.version:
            return present
        commits = await newer(self._ledger, present.version, present.digest)
        if known is None:
            await asyncio.to_thread(fold.active, commits)  # LedgerCorrupt when they contradict each other
        memories = self._systems.bases.keys()
        served = [e for commit in commits for e in commit.edits if e.memory in memories]
        await self.library.load(served)
        then = present.followed_by(commits, present.readings)
        written = {memory for commit in commits for memory in commit.writes}
        readings = await self.folded(then.active_edits(), sorted(written & memories), present.readings)
        for reading in readings.values():
            _check(reading, commits)
        return present.followed_by(commits, readings)


def _check(reading: Reading, commits: Sequence[Commit]) -> None:
    """The writer folds on what others folded, so both have to come to the same bits."""
    memory, found = reading.system.memory, reading.image.checksum
    last = next((commit for commit in reversed(commits) if memory in commit.writes), None)
    if last is not None and last.writes[memory].checksum != found:
        detail = f"{memory} at version {last.version} should be {last.writes[memory].checksum} and folds to {found}"
        advice = "either this process runs another checkpoint than the writer, or rows were altered"
        raise LedgerCorrupt(f"{detail}: {advice}", version=last.version, memory=memory)
