"""The systems as the writer uses them: all their work in one thread, so that the event loop stays free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from models.graph.memory import GRAPH
from models.memory import AnswerChange, Image, Material, View
from models.system import Ask, System
from models.system import EditRefused as Refusal
from service.editing.made import Made
from service.errors import EditRefused, ErrataError, InvalidInput, LedgerCorrupt, UnknownModel
from service.graph.lookup import Lookup
from service.measuring.reading import Reading

AT_A_TIME = 64  # corrections turned into rows before other work gets its turn: a quarter of a second

P = ParamSpec("P")
T = TypeVar("T")


class Systems:
    """By model name. Their views are immutable and their weights never change, so one set serves every version.

    lookup: what the graph says of the words of a question; needed where a system reads the graph. thread: in which the
    systems were loaded; torch used in a second thread takes twice as long in both (service/loading.py).
    """

    def __init__(
        self,
        systems: Mapping[str, System],
        lookup: Lookup | None = None,
        thread: ThreadPoolExecutor | None = None,
    ) -> None:
        self._systems = dict(systems)
        self._lookup = lookup
        self._made = Made()
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix="editor")

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

    async def materials(
        self, model: str, corrections: Sequence[AnswerChange], method: str
    ) -> list[Material | EditRefused]:
        """The rows of each correction, or the editor's own reason why it cannot work.

        Rows follow from the base alone, so those made lately for the same words are taken as they are: a file is
        checked before it is committed, a curator tries an edit out before she makes it.
        """
        fresh = [one for one in corrections if not self._made.has(model, method, one)]
        refused: dict[str, EditRefused] = {}
        for start in range(0, len(fresh), AT_A_TIME):
            some = fresh[start : start + AT_A_TIME]
            for one, made in zip(some, await self._edited(self.of(model), some, method), strict=True):
                if isinstance(made, Material):
                    self._made.keep(model, method, one, made)
                else:
                    refused[one.id] = made
        return [refused.get(one.id) or self._made.get(model, method, one) for one in corrections]

    async def _edited(
        self, system: System, some: Sequence[AnswerChange], method: str
    ) -> Sequence[Material | EditRefused]:
        """Of several of which one is refused, each half again: the others are none the worse for it."""
        try:
            made: list[Material] = await self.run(system.edit, some, method)
        except Refusal as refusal:
            if len(some) == 1:
                return [_refused(refusal)]
            middle = len(some) // 2
            first = await self._edited(system, some[:middle], method)
            return [*first, *await self._edited(system, some[middle:], method)]
        return made

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def _refused(refusal: Refusal) -> EditRefused:
    error = EditRefused(refusal.detail, reason=refusal.code)
    error.__cause__ = refusal
    return error


async def _as_they_are(asks: Sequence[Ask], views: Sequence[View]) -> list[Ask]:
    return list(asks)
