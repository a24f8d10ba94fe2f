"""The systems as the writer uses them: all their work in one thread, so that the event loop stays free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from models.graph.memory import GRAPH
from models.memory import Image
from models.system import Ask, Correction, Material, System, View
from models.system import EditRefused as Refusal
from service.editing.reading import Reading
from service.errors import EditRefused, ErrataError, InvalidInput, LedgerCorrupt, UnknownModel
from service.graph.lookup import Lookup

AT_A_TIME = 16  # corrections turned into rows before other work gets its turn

P = ParamSpec("P")
T = TypeVar("T")


class Systems:
    """By model name. Their views are immutable and their weights never change, so one set serves every version.

    lookup: what the graph says of the words of a question; needed where a system reads the graph.
    """

    def __init__(self, systems: Mapping[str, System], lookup: Lookup | None = None) -> None:
        self._systems = dict(systems)
        self._lookup = lookup
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="editor")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._systems)

    @property
    def bases(self) -> dict[str, Image]:
        """Memory -> what it holds before any edit."""
        return {system.memory: system.base for system in self._systems.values()}

    @property
    def lookup(self) -> Lookup:
        assert self._lookup is not None, "a system reads the graph"
        return self._lookup

    @property
    def on_graph(self) -> tuple[str, ...]:
        """Those whose memory is the graph."""
        return tuple(name for name, system in self._systems.items() if system.memory == GRAPH)

    @property
    def corrected(self) -> tuple[str, ...]:
        """Those that are corrected by a question and its answer."""
        return tuple(name for name, system in self._systems.items() if system.memory != GRAPH)

    def that_read(self, memory: str) -> list[str]:
        """Those whose memory it is."""
        return [name for name, system in self._systems.items() if system.memory == memory]

    def of(self, model: str) -> System:
        if model not in self._systems:
            known = ", ".join(self._systems)
            raise UnknownModel(
                f"there is no model {model!r} here: there is {known}", models=list(self._systems)
            )
        return self._systems[model]

    def method(self, model: str, wanted: str | None) -> str:
        """The editing method to use: the wanted one, or the model's own first choice."""
        methods = self.of(model).methods
        if wanted is not None and wanted not in methods:
            detail = f"the model {model!r} has no method {wanted!r}: it has {', '.join(methods)}"
            raise InvalidInput(detail, field="method")
        return wanted or methods[0]

    async def run(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(*args, **named))

    async def compiled(self, model: str, image: Image) -> Reading:
        """The model with its memory as `image` says."""
        system = self.of(model)
        view = await self.run(system.view, image)
        if "graph" not in system.reads:
            return Reading(system, image, view, self.run, _as_they_are)
        await self.lookup.prepare(view)
        return Reading(system, image, view, self.run, self._informed)

    async def _informed(self, asks: Sequence[Ask], views: Sequence[View]) -> list[Ask]:
        """Raises what keeps the graph from being read: a report is measured whole or not at all.

        Damaged rows are the exception: else nobody could take back the import that they are of. Such a question is
        asked as if the graph said nothing of it, which is what a person sees of it, too: no answer.
        """
        found = (await self.lookup.inform(asks, views)).asks
        for ask in found:
            if isinstance(ask, ErrataError) and not isinstance(ask, LedgerCorrupt):
                raise ask
        return [one if isinstance(one, Ask) else ask for one, ask in zip(found, asks, strict=True)]

    async def materials(self, model: str, corrections: Sequence[Correction], method: str) -> list[Material]:
        """The rows of each correction. EditRefused, with the editor's own reason, when one cannot work."""
        made: list[Material] = []
        try:
            for start in range(0, len(corrections), AT_A_TIME):
                made += await self.run(self.of(model).edit, corrections[start : start + AT_A_TIME], method)
        except Refusal as refusal:
            raise EditRefused(refusal.detail, reason=refusal.code) from refusal
        return made

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


async def _as_they_are(asks: Sequence[Ask], views: Sequence[View]) -> list[Ask]:
    return list(asks)
