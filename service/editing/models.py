"""The models as the editor uses them: every memory and every system at a version, asked in one thread.

A `ModelAtVersion` never changes: its answers follow from its views. It caches them, so that no question is asked
twice, and hands them out as frozen mappings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice, pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast
from weakref import ReferenceType, ref

from cachetools import LRUCache
from more_itertools import chunked, map_reduce

from models.blocks import Image, block_key
from models.capabilities import (
    ForeseesSteps,
    ForeseesTaught,
    HasScope,
    PredictsAffected,
    ReadsNeighbours,
    Routes,
    ScopeVerdict,
)
from models.contract import BrokenContract
from models.graph.neighbours import Reach
from models.memory import AnswerChange, Change, ChangeKind, Material, Memory, Options, Usage, View, Views
from models.memory import EditRefused as MemoryRefusal
from models.system import Ask, Bundle, NearbyEdit, Probes, Reply, Side, System
from service.errors import EditRefused, ErrataError, Internal, InvalidInput, LedgerCorrupt, UnknownModel
from service.graph.lookup import Lookup
from service.ledger.commit import EditRecord
from service.ledger.poison_requests import SUSPECT, PoisonRequests
from service.scheduling.commit_priority import CommitPriority, piece_size

CHANGES_PER_TURN = 64  # changes built in one turn, a quarter of a second; then other work gets its turn
QUESTIONS_PER_PASS = 64  # questions in one forward pass; between two passes other work gets its turn
STEPS_PER_PASS = 16  # commits that are compared at once
QUESTIONS_AHEAD = 192  # questions of several reports in a common pass, whose pieces are an eighth
MAX_ANSWERS = 200_000  # answers that a model at one version keeps, of which the first ones are dropped
QUESTIONS_PER_COMPARISON = 256  # questions in one comparison; most of them were read before
MATERIALS_CACHED = 20_000  # materials in the cache, about 10 kB each
NO_GRAPH = "no system that is served here reads the graph, so no triple can be edited: serve one that does"

P = ParamSpec("P")
T = TypeVar("T")
Run: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]
Inform: TypeAlias = Callable[[Sequence[Ask], Views], Awaitable[list[Ask]]]


@dataclass(frozen=True)
class Answer:
    """An answer, None if the system declines, with the edits and the objects of the facts that it rests on."""

    text: str | None
    edits: tuple[str, ...]
    objects: tuple[str, ...] = ()
    best: str = field(default="", compare=False)  # what the system would answer without declining
    # Probability that it is right; 1 for an answer that an edit is known to give
    score: float = field(default=1.0, compare=False)


Answers: TypeAlias = Mapping[str, Answer]
"""Question -> its answer by one model at one version."""


@dataclass(frozen=True, eq=False)
class MemoryAtVersion:
    memory: Memory
    image: Image
    view: View = field(repr=False)

    @cached_property
    def usage(self) -> Usage:
        return self.memory.usage(self.image)


@dataclass(frozen=True)
class Routing:
    """The edits that answer the wordings of edits, known without asking."""

    # The result of `Routes.find_misrouted`; None for a system that does not route
    misroutes: Mapping[str, Sequence[str | None]] | None
    images: Sequence[Image]  # the images of the system's memories, which have the active blocks

    def answering_edit(self, edit: str, place: int) -> str | None:
        """Return the edit that answers a wording of `edit`; None if only asking tells, or if no active edit does."""
        if self.misroutes is None:
            return None
        if edit not in self.misroutes:
            return edit if any(block_key(edit) in image.blocks for image in self.images) else None
        owners = self.misroutes[edit]
        return owners[place] if owners else None


@dataclass
class Foreseen:
    """What a system foresaw of a change: whether answers may differ, and which trained questions it may reach."""

    differs: dict[str, bool] = field(default_factory=dict)
    # Empty before the system is asked
    reach: tuple[Sequence[str] | None, ...] = ()


@dataclass(eq=False)
class ModelAtVersion:
    """A system with its memories at one version; `retrieve_facts` adds the facts of a memory to its questions."""

    system: System
    memories: Mapping[str, MemoryAtVersion]
    run: Run = field(repr=False)
    retrieve_facts: Inform | None = field(default=None, repr=False)
    _cache: dict[str, Answer] = field(default_factory=dict, init=False, repr=False)
    _routing: Routing | None = field(default=None, init=False, repr=False)
    # The version before, and what the system foresaw of the change since then
    _foreseen: tuple[ReferenceType[ModelAtVersion], Foreseen] | None = field(
        default=None, init=False, repr=False
    )

    @cached_property
    def views(self) -> Views:
        return {name: memory.view for name, memory in self.memories.items()}

    async def ask(self, questions: Iterable[str], as_of: str = "") -> Answers:
        """Answer questions with the facts that are current on a day; "" is today, whose answers are cached."""
        questions = list(dict.fromkeys(questions))
        answers = {} if as_of else dict(self.recall(questions))
        missing = questions - answers.keys()
        answers |= (await _answer([(self, question) for question in missing], as_of)).get(self, {})
        if as_of:
            return MappingProxyType(answers)
        self._keep(answers)
        return MappingProxyType({question: answers[question] for question in questions})

    def _keep(self, answers: Answers) -> None:
        self._cache |= answers  # only the event loop changes it
        for question in [*islice(self._cache, max(0, len(self._cache) - MAX_ANSWERS))]:
            del self._cache[question]

    def recall(self, questions: Iterable[str]) -> Answers:
        """Return the cached answers; other questions are left out and not asked."""
        found_answers = ((question, self._cache.get(question)) for question in questions)
        return {question: answer for question, answer in found_answers if answer is not None}

    async def ask_unless_routed(self, questions: Sequence[str], edits: Mapping[str, EditRecord]) -> Answers:
        """Ask, without a forward pass for questions that are routed to one of `edits`, which are given by id."""
        await self.keep_routed(questions, edits)
        return await self.ask(questions)

    async def keep_routed(self, questions: Iterable[str], edits: Mapping[str, EditRecord]) -> None:
        """Keep the answers to questions that are routed to one of `edits`."""
        missing = [question for question in questions if question not in self._cache]
        for question, edit in zip(missing, await self.route(missing), strict=True):
            if edit is not None and edit in edits:
                self._cache[question] = Answer(edits[edit].answer, (edit,))

    async def ask_wordings(
        self, wordings: Iterable[tuple[str, str, int]], edits: Mapping[str, EditRecord]
    ) -> Answers:
        """Ask the wordings of edits, without a forward pass for those that are routed to one of `edits`.

        Args:
            wordings: Question, edit, and the question's place among the edit's wordings.
        """
        routing = await self.routing()
        wordings = list(wordings)
        for question, edit, place in wordings:
            owner = routing.answering_edit(edit, place)
            if owner is not None and owner in edits:
                self._cache.setdefault(question, Answer(edits[owner].answer, (owner,)))
        return await self.ask(question for question, _, _ in wordings)

    async def routing(self) -> Routing:
        if self._routing is None:
            misroutes = (
                await self.run(self.system.find_misrouted, self.views)
                if isinstance(self.system, Routes)
                else None
            )
            self._routing = Routing(misroutes, [memory.image for memory in self.memories.values()])
        return self._routing

    async def _look(self, method: Callable[..., Any], questions: Sequence[str]) -> list[Any]:
        """Return what a method of the system says of each question, asked in pieces."""
        results: list[Any] = []
        for batch in chunked(questions, piece_size(QUESTIONS_PER_COMPARISON)):
            results += await self.run(method, await self._asks(batch), self.views)
        return results

    async def route(self, questions: Sequence[str]) -> list[str | None]:
        """Return the edit that answers each question; None if only asking tells."""
        return (
            await self._look(self.system.route, questions)
            if isinstance(self.system, Routes)
            else [None] * len(questions)
        )

    async def find_same(self, questions: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the active edits that a new edit of each question would replace."""
        return (
            await self._look(self.system.find_same, questions)
            if isinstance(self.system, Routes)
            else [()] * len(questions)
        )

    async def find_nearest(self, questions: Sequence[str]) -> list[NearbyEdit | None]:
        """Return the edit that each question most probably asks for; always None for a system without a scope."""
        return (
            await self._look(self.system.find_nearest, questions)
            if isinstance(self.system, HasScope)
            else [None] * len(questions)
        )

    async def ask_the_same(self, questions: Sequence[str]) -> list[bool]:
        """Return whether each question asks for the fact of an edit as surely as one that a new edit replaces."""
        if not isinstance(self.system, HasScope):
            return [False] * len(questions)
        limit, matches = self.system.thresholds.replaces, await self.find_nearest(questions)
        return [match is not None and match.probability >= limit for match in matches]

    async def examine_scope(self, question: str) -> list[ScopeVerdict]:
        """Return the wordings of edits that the question resembles most; InvalidInput for a system without a scope."""
        if not isinstance(self.system, HasScope):
            raise InvalidInput(
                f"{self.system.name!r} has no edits of questions: ask it with `explain` what an answer rests on",
                field="model",
            )
        (ask,) = await self._asks([question])
        return cast(list[ScopeVerdict], await self.run(self.system.examine_scope, ask, self.views))

    async def reached_since(self, before: ModelAtVersion) -> Sequence[str] | None:
        """Return the trained questions whose answers may differ from `before`; None if the system cannot tell."""
        if not isinstance(self.system, ForeseesTaught):
            return None
        foreseen = self._foreseen_since(before)
        if not foreseen.reach:
            foreseen.reach = (await self.run(self.system.find_affected, before.views, self.views),)
        return foreseen.reach[0]

    def _foreseen_since(self, before: ModelAtVersion) -> Foreseen:
        if self._foreseen is None or self._foreseen[0]() is not before:
            self._foreseen = ref(before), Foreseen()
        return self._foreseen[1]

    async def differing_since(self, before: ModelAtVersion, questions: Iterable[str]) -> list[str]:
        """Return the questions whose answers may differ from `before`, and keep the cached answers to the others."""
        if before is self:
            return []
        questions = list(dict.fromkeys(questions))
        if not isinstance(self.system, PredictsAffected):
            return questions
        differs = self._foreseen_since(before).differs
        new = [question for question in questions if question not in differs]
        for batch in chunked(new, QUESTIONS_PER_COMPARISON):
            await self.prepare_comparison(batch)  # a comparison of questions that are read takes no time
            sides = Side(await before._asks(batch), before.views), Side(await self._asks(batch), self.views)
            differs |= zip(batch, await self.run(self.system.may_differ, *sides), strict=True)
        for question in questions:
            if not differs[question] and question in before._cache:
                self._cache[question] = before._cache[question]
        return [question for question in questions if differs[question]]

    async def prepare_comparison(self, questions: Iterable[str]) -> None:
        """Let the system read questions in small pieces."""
        if isinstance(self.system, PredictsAffected):
            for batch in chunked(questions, piece_size(QUESTIONS_PER_COMPARISON)):
                side = Side(await self._asks(batch), self.views)
                await self.run(self.system.may_differ, side, side)

    async def _asks(self, questions: Sequence[str], as_of: str = "") -> list[Ask]:
        asks = [Ask(question, as_of=as_of) for question in questions]
        return asks if self.retrieve_facts is None else await self.retrieve_facts(asks, self.views)


async def _answer(
    pairs: Sequence[tuple[ModelAtVersion, str]], as_of: str = "", n_together: int = QUESTIONS_PER_PASS
) -> dict[ModelAtVersion, dict[str, Answer]]:
    """Ask one system's models of any versions: a pass mixes them, and has questions of about one length."""
    answers: dict[ModelAtVersion, dict[str, Answer]] = {}
    by_length = sorted(pairs, key=lambda pair: (len(pair[1]), pair[1]))  # little padding
    for batch in chunked(by_length, piece_size(n_together)):
        asks: dict[tuple[ModelAtVersion, str], Ask] = {}
        for model, group in map_reduce(batch, itemgetter(0)).items():
            asks |= zip(group, await model._asks([question for _, question in group], as_of), strict=True)
        system, views = batch[0][0].system, [model.views for model, _ in asks]
        replies: list[Reply] = await batch[0][0].run(system.answer, list(asks.values()), views)
        for (model, question), reply in zip(asks, replies, strict=True):
            objects = tuple(str(fact["object"]) for fact in reply.facts)
            answer = Answer(reply.answer, reply.edits, objects, reply.best, reply.score)
            answers.setdefault(model, {})[question] = answer
    return answers


async def ask_ahead(batches: Iterable[tuple[ModelAtVersion, Iterable[str]]]) -> None:
    """Ask models of several versions what they will be asked one by one, so that the answers come from their caches."""
    pairs = dict.fromkeys(
        (model, q) for model, questions in batches for q in questions if q not in model._cache
    )
    for batch in map_reduce(pairs, lambda pair: id(pair[0].system)).values():
        for model, answers in (await _answer(batch, n_together=QUESTIONS_AHEAD)).items():
            model._keep(answers)


async def compare_ahead(versions: Sequence[ModelAtVersion], questions: Iterable[str]) -> None:
    """Compare a model's consecutive versions at once, so that `differing_since` of each finds what it would ask for."""
    last = versions[-1]
    if last.retrieve_facts is not None or not isinstance(last.system, ForeseesSteps):
        return
    for batch in chunked(dict.fromkeys(questions), QUESTIONS_PER_PASS):
        await last.prepare_comparison(batch)
        for start in range(0, len(versions) - 1, STEPS_PER_PASS):  # others have their turn between
            part = versions[start : start + STEPS_PER_PASS + 1]
            views = [version.views for version in part]
            steps = await last.run(last.system.may_differ_in_steps, await last._asks(batch), views)
            for (before, after), differs in zip(pairwise(part), steps, strict=True):
                after._foreseen_since(before).differs |= zip(batch, differs, strict=True)


ModelsAtVersion: TypeAlias = Mapping[str, ModelAtVersion]
"""Model name -> the model, all at one version."""


class Models:
    """All systems that are served, by name, with the memories they share.

    Attributes:
        lookup: The entities of the graph, and what they add to questions.
        fact_memory: Name of the memory that takes facts; "" if no system reads one.
    """

    def __init__(
        self,
        bundles: Mapping[str, Bundle],
        lookup: Lookup | None = None,
        thread: ThreadPoolExecutor | None = None,
        default: str | None = None,
        suspects: PoisonRequests | None = None,
    ) -> None:
        """Join the systems.

        Args:
            thread: Thread in which the systems were loaded; torch in a second one takes twice as long in both.
            default: Model to correct if a request names none; None for the first.
        """
        self.default = default or next(iter(bundles))
        self._systems = {name: bundle.system for name, bundle in bundles.items()}
        self.memories = _shared_memories(bundles)
        self.fact_memory = next((m.name for m in self.memories.values() if "triple" in m.accepts), "")
        self._lookup = lookup
        self._materials: LRUCache[tuple[object, ...], Material] = LRUCache(MATERIALS_CACHED)
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix="editor")
        self._suspects = suspects
        self.priority = CommitPriority()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._systems)

    @property
    def lookup(self) -> Lookup:
        assert self._lookup is not None, "a system reads the graph"
        return self._lookup

    @property
    def fact_readers(self) -> tuple[str, ...]:
        return self.readers_of(self.fact_memory)

    def check_takes_facts(self) -> None:
        if not self.fact_memory:
            raise UnknownModel(NO_GRAPH, models=list(self.names))

    @cached_property
    def answer_memories(self) -> dict[str, Memory]:
        """The memory of each model that takes corrected answers; models without one are left out."""
        memories = {name: self.memory_for(name, "answer") for name in self._systems}
        return {name: memory for name, memory in memories.items() if memory is not None}

    @property
    def probes(self) -> dict[str, Probes]:
        return {name: system.probes for name, system in self._systems.items()}

    def readers_of(self, memory: str) -> tuple[str, ...]:
        return tuple(name for name, system in self._systems.items() if memory in system.memories)

    def memory_for(self, model: str, kind: ChangeKind) -> Memory | None:
        """Return the first memory of the model that accepts this kind of change; UnknownModel for another model."""
        names = self.system(model).memories
        return next((self.memories[name] for name in names if kind in self.memories[name].accepts), None)

    def system(self, model: str) -> System:
        if model not in self._systems:
            raise UnknownModel.of(model, self._systems)
        return self._systems[model]

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run one piece of work in the models' thread when it is its turn."""
        loop = asyncio.get_running_loop()
        piece = partial(work, *args, **kwargs)
        if self._suspects and (suspect := SUSPECT.get()):
            piece = partial(self._suspects.run, loop, suspect, piece)
        async with self.priority.turn():
            return await loop.run_in_executor(self._thread, piece)

    async def view(self, memory: str, image: Image) -> MemoryAtVersion:
        """Return a memory with the rows of `image`, ready for questions."""
        view = await self.run(self.memories[memory].view, image)
        if self._informs([memory]):
            await self.lookup.prepare(view)
        return MemoryAtVersion(self.memories[memory], image, view)

    def _informs(self, memories: Sequence[str]) -> bool:
        return self._lookup is not None and self._lookup.memory in memories

    def assemble(self, model: str, memories: Mapping[str, MemoryAtVersion]) -> ModelAtVersion:
        system = self.system(model)
        reach = system.reach if isinstance(system, ReadsNeighbours) else None
        return ModelAtVersion(
            system,
            {name: memories[name] for name in system.memories},
            self.run,
            partial(self.retrieve_facts, reach=reach) if self._informs(system.memories) else None,
        )

    async def retrieve_facts(
        self, asks: Sequence[Ask], views: Views, reach: Reach | None = None
    ) -> list[Ask]:
        """Add to each question what a memory knows about it at one version.

        Damaged rows of an import are not an error, for then the import could not be taken back: such a question is
        asked as if the memory knew nothing about it.

        Raises:
            ErrataError: The memory cannot be read. A report is measured whole or not at all.
        """
        results = (
            await self.lookup.retrieve_facts(asks, [views[self.lookup.memory]] * len(asks), reach)
        ).asks
        for result in results:
            if isinstance(result, ErrataError) and not isinstance(result, LedgerCorrupt):
                raise result
        return [result if isinstance(result, Ask) else ask for result, ask in zip(results, asks, strict=True)]

    async def build(
        self, memory: str, changes: Sequence[Change], options: Options
    ) -> list[Material | EditRefused]:
        """Return the rows of each change, or why the memory refuses it.

        The rows of an answer follow from its words and the base, and only their block's key names the edit. So rows
        that were built lately for the same words come from a cache: a file is checked before it is committed, and a
        curator tries an edit out before making it. Other changes are resolved on a version of the graph and built
        each time.
        """
        results: list[Material | EditRefused | None] = [None] * len(changes)
        keys = [
            (memory, options, replace(c, id="")) if isinstance(c, AnswerChange) else None for c in changes
        ]
        for place, (key, change) in enumerate(zip(keys, changes, strict=True)):
            if key is not None and key in self._materials:
                results[place] = _assign(self._materials[key], change.id)
        missing = [place for place, result in enumerate(results) if result is None]
        for turn in chunked(missing, piece_size(CHANGES_PER_TURN)):
            batch = [changes[place] for place in turn]
            rows = await self.run(_build_rows, self.memories[memory], batch, options)
            for place, material in zip(turn, rows, strict=True):
                if isinstance(material, Material):
                    results[place] = _assign(material, changes[place].id)
                    if (key := keys[place]) is not None:
                        self._materials[key] = material
                else:
                    results[place] = refusal = EditRefused(material.detail, reason=material.code)
                    refusal.__cause__ = material
        return [result for result in results if result is not None]

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def _build_rows(
    memory: Memory, changes: Sequence[Change], options: Options
) -> list[Material | MemoryRefusal]:
    """Call `Memory.build` and check that it keeps its contract."""
    rows = memory.build(changes, options)
    if len(rows) != len(changes) or not all(isinstance(row, Material | MemoryRefusal) for row in rows):
        raise Internal(
            f"the memory {memory.name!r} returned {len(rows)} results for {len(changes)} changes: "
            "`build` has to return a Material or an EditRefused for each, in order"
        )
    return rows


def _assign(material: Material, edit: str) -> Material:
    return replace(material, edit=edit, block=replace(material.block, key=block_key(edit)))


def _shared_memories(bundles: Mapping[str, Bundle]) -> dict[str, Memory]:
    memories: dict[str, Memory] = {}
    for model, bundle in bundles.items():
        for memory in bundle.memories:
            if memory.name not in bundle.system.memories:
                continue
            first = memories.setdefault(memory.name, memory)
            if first is memory:
                continue
            if first.base.base != memory.base.base:
                raise BrokenContract(
                    f"{model!r} brings a memory {memory.name!r} with another base than the systems before it: "
                    "serve them with one checkpoint, or name the memories differently"
                )
            if bundle.device != next(b.device for b in bundles.values() if first in b.memories):
                raise BrokenContract(
                    f"{model!r} reads the memory {memory.name!r} on {bundle.device}, and a system before it on another "
                    "device: its views are compiled once, so give both one --device"
                )
    return memories
