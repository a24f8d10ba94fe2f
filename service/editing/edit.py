"""From edits as they were asked for to a draft: only what changes something, made once from the base."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from errata.wire import (
    EditItem,
    EditReport,
    EditRequest,
    FactItem,
    Item,
    RefusedEdit,
    RelationItem,
)

from models.graph.blocks import statements_block
from models.graph.view import GraphView
from models.memory import AnswerChange, Material
from service.editing.contradictions import Contradiction, contradiction, once
from service.editing.folding import Folder
from service.editing.overheard import overheard
from service.editing.refusals import KEEP_ONE, LATER_WINS, Refusals
from service.editing.resolving import Resolver, cleaned
from service.editing.systems import Systems
from service.editing.triples import cleaned_relation, wanted_of_fact, wanted_of_relation
from service.errors import JSON, ErrataError, InvalidInput, MemoryFull, NothingToDo, UnknownModel
from service.ledger.commit import EditRecord, Kind, canonical, edit_order, new_edit_id, sha256
from service.ledger.fold import Change
from service.measuring.answered import all_come_out, ask, failure, holds, idle_report
from service.measuring.capacity import Room
from service.measuring.draft import Draft
from service.measuring.fact_tests import FactTest
from service.measuring.materials import key as key_of
from service.measuring.present import Present
from service.measuring.reading import Reading
from service.measuring.reworded import MOST_REWORDED
from service.measuring.rewording import Rewording
from service.measuring.standing import tell
from service.measuring.stopwatch import Stopwatch
from service.measuring.wanted import Wanted

SAID_ALREADY = "the graph says so already; there is nothing to edit"
NO_GRAPH = "no system that is served here reads the graph, so no triple can be edited: serve kbert"

NO_REWORDING: Mapping[str, Rewording] = {}


class Editing:
    """The plan of POST /admin/edits."""

    kind: Kind = "edit"

    def __init__(
        self, asked: EditRequest, systems: Systems, rewording: Mapping[str, Rewording] = NO_REWORDING
    ) -> None:
        self.message = asked.message
        self._dry_run = asked.dry_run
        self.request = digest("edit", asked.model_dump(mode="json", include={"edits", "message", "method"}))
        self._systems, self._rewording = systems, rewording
        self._items = asked.edits
        self._methods = {model: systems.method(model, asked.method) for model in systems.corrected}
        if not systems.on_graph and not all(isinstance(item, EditItem) for item in asked.edits):
            raise UnknownModel(NO_GRAPH, models=list(systems.names))
        self._unknown = Refusals(asked.skip_refused or not asked.measure)
        self._corrections = list(self._corrected())
        self._version, self._refusals = -1, self._unknown
        self._ids: dict[tuple[int, str], str] = defaultdict(new_edit_id)
        self._made: dict[tuple[str, str, str], Material] = {}
        self._needed: set[str] = set()
        self._fresh: list[Wanted] = []
        self._wanted: list[Wanted] = []

    async def draft(self, present: Present, watch: Stopwatch) -> Draft:
        self._begin(present)
        while True:
            with watch.part("editor"):
                self._wanted = await self._everything(present)
            with watch.part("report"):
                idle = await self._idle(present)
            self._fresh = [one for place, one in enumerate(self._wanted) if place not in idle]
            if not self._fresh and not self._dry_run:
                raise self._nothing(idle, present)
            with watch.part("editor"):
                if await self._make(self._fresh):
                    return self._draft(idle, present.version + 1)

    async def stands(self, draft: Draft, after: Mapping[str, Reading]) -> bool:
        """Not when a correction that needed no rows does because of the others, nor when one is left out now."""
        idle = [self._wanted[place] for place in draft.idle if self._wanted[place].triple is None]
        await ask(after, idle)
        needed = {one.id for one in idle if one.idle is None and not all_come_out(one, after)}
        self._needed |= needed
        return not (needed or (self._refusals.skip and await self._leave_out_failing(draft, after)))

    async def check(self, present: Present, folder: Folder, room: Room) -> list[RefusedEdit]:
        """Which edits would be refused, as far as that shows without measuring what each of them does.

        Also those that another one answers for: with all of them in place, who speaks is known without asking.
        MemoryFull when none is refused and they do not fit.
        """
        try:
            await self._look(present, folder, room, asking=False)
        except MemoryFull:  # some may be answered so already and take no room
            await self._look(present, folder, room, asking=True)
        return self._refusals.told()

    async def _look(self, present: Present, folder: Folder, room: Room, asking: bool) -> None:
        """asking: whether an edit is needed; it takes as long as making it."""
        self._begin(present)
        made = False
        while not made:
            self._wanted = [one for one in await self._everything(present) if one.told is None]
            idle = await self._idle(present) if asking else {}
            self._fresh = [
                one for place, one in enumerate(self._wanted) if not one.repeated and place not in idle
            ]
            made = await self._make(self._fresh)
        after = await folder.with_draft(present, self._draft({}, present.version + 1))
        self._refusals.found |= await overheard(self._fresh, present, after)
        if self._fresh and not self._refusals.found:
            room.take(after.values())

    def _begin(self, present: Present) -> None:
        """What was refused on another version may be right on this one."""
        if present.version != self._version:
            self._version = present.version
            self._refusals = Refusals(self._unknown.skip, self._unknown.found)

    def _corrected(self) -> Iterator[Wanted]:
        for place, item in enumerate(self._items):
            if isinstance(item, EditItem):
                with self._unknown.spare(place):
                    yield self._correction(place, item)

    def _correction(self, place: int, item: EditItem) -> Wanted:
        system = self._systems.of(item.model)
        method = self._methods.get(item.model, system.methods[0])
        given = tuple(item.paraphrases)
        wanted = Wanted(place, item.model, system.memory, method, item.question, item.answer, given)
        if place >= MOST_REWORDED or item.model not in self._rewording:
            return wanted
        return replace(wanted, reworded=tuple(self._rewording[item.model].of(item.question, given)))

    async def _everything(self, present: Present) -> list[Wanted]:
        """In the order of the request, without what is refused."""
        while True:
            corrections = [one for one in self._corrections if one.place not in self._refusals]
            wanted = [*corrections, *await self._on_graph(present)]
            found = contradiction(wanted)
            if found is None:
                return once(wanted)
            self._supersede(found)

    def _supersede(self, found: Contradiction) -> None:
        words = {"earlier": found.earlier, "later": found.later, "wording": found.wording}
        if not self._refusals.skip:
            raise InvalidInput(KEEP_ONE.format(**words), field=f"edits.{found.later}")
        self._refusals.supersede(found.earlier, LATER_WINS.format(**words))

    async def _on_graph(self, present: Present) -> list[Wanted]:
        """The facts, and what is said of relations, on this version of the graph."""
        if all(isinstance(item, EditItem) for item in self._items):
            return []
        view = present.readings[self._systems.on_graph[0]].view
        resolver = Resolver(view, self._systems.lookup)
        found: list[Wanted] = []
        for place, item in enumerate(self._items):
            if place not in self._refusals:
                with self._refusals.spare(place), resolver.whole():
                    found += await self._said(place, item, view, resolver)
        return [replace(one, id=self._ids[one.place, one.model]) for one in _last_answers(found)]

    async def _said(self, place: int, item: Item, view: GraphView, resolver: Resolver) -> list[Wanted]:
        if isinstance(item, FactItem):
            fact = cleaned(item, place)
            meant = await resolver.meant(fact, place)
            return wanted_of_fact(fact, meant, place, view, self._systems, self._methods)
        if isinstance(item, RelationItem):
            relation = cleaned_relation(item, place)
            resolver.define(relation)
            return [wanted_of_relation(relation, place, view, self._systems)]
        return []

    async def _idle(self, present: Present) -> dict[int, EditReport]:
        """What needs no rows, each with its report."""
        await ask(present.readings, self._wanted)
        return {
            place: idle_report(one, present.readings[one.model])
            for place, one in enumerate(self._wanted)
            if one.id not in self._needed and self._is_idle(one, present)
        }

    def _is_idle(self, one: Wanted, present: Present) -> bool:
        if one.told is not None:
            return one.idle is not None
        return one.repeated or all_come_out(one, present.readings)

    async def _make(self, wanted: Sequence[Wanted]) -> bool:
        """From the base alone, so what was made for one version is right on every other. False: some are refused."""
        groups: dict[tuple[str, str], list[Wanted]] = defaultdict(list)
        for one in wanted:
            if one.told is None and _content(one) not in self._made:
                groups[one.model, one.method].append(one)
        refused: dict[int, ErrataError] = {}
        for (model, method), some in groups.items():
            corrections = [AnswerChange(one.id, one.question, one.answer, one.paraphrases) for one in some]
            for one, made in zip(
                some, await self._systems.materials(model, corrections, method), strict=True
            ):
                if isinstance(made, Material):
                    self._made[_content(one)] = made
                else:
                    refused[one.place] = made
        self._refusals.add(refused)
        return not refused

    async def _leave_out_failing(self, draft: Draft, after: Mapping[str, Reading]) -> bool:
        """Whether there are edits whose own question does not get the answer; the next draft is without them."""
        fresh = {record.id: record for record in draft.records}
        await tell([FactTest(record, 0) for record in draft.records if record.question], fresh, after)
        failing = [one for one in self._fresh if one.question and not holds(one, after)]
        self._refusals.add({one.place: failure(one, after) for one in failing})
        return bool(failing)

    def _draft(self, idle: Mapping[int, EditReport], version: int) -> Draft:
        materials = [self._placed(one, version, index) for index, one in enumerate(self._fresh)]
        records = [_record(one, made) for one, made in zip(self._fresh, materials, strict=True)]
        return Draft(
            Change(tuple(one.id for one in self._fresh), ()),
            None,
            tuple(records),
            tuple(materials),
            idle,
            {one.id: one.place for one in self._fresh},
            tuple(self._refusals.told()),
        )

    def _nothing(self, idle: Mapping[int, EditReport], present: Present) -> NothingToDo:
        asked = any(self._wanted[place].told is None for place in idle)
        said = _nothing(len(idle)) if asked else SAID_ALREADY
        refused: list[JSON] = [one.model_dump(mode="json") for one in self._refusals.told()]
        if not refused:
            return NothingToDo(said, version=present.version)
        detail = f"{len(refused):,} of {len(self._items):,} edits are refused"
        others = said if idle else "there is nothing to edit"
        return NothingToDo(f"{detail}; {others}", version=present.version, refused=refused)

    def _placed(self, one: Wanted, version: int, index: int) -> Material:
        place = edit_order(version, index)
        if one.told is not None:
            return Material(one.id, one.method, statements_block(key_of(one.id), place, one.told))
        made = self._made[_content(one)]
        return replace(made, edit=one.id, block=replace(made.block, key=key_of(one.id), order=place))


def digest(kind: Kind, asked: Mapping[str, object]) -> str:
    """Names a request by what it asks for."""
    return sha256(canonical({"kind": kind, **asked}))


def _last_answers(wanted: Sequence[Wanted]) -> list[Wanted]:
    """Of several facts that make up one answer, the answer after the last of them."""
    last = {(one.model, one.question): one for one in wanted if one.told is None}
    return [one for one in wanted if one.told is not None or last[one.model, one.question] is one]


def _content(one: Wanted) -> tuple[str, str, str]:
    """What its rows follow from, and whose they are: a fact may come to another answer on another version."""
    return one.id, one.question, one.answer


def _record(one: Wanted, made: Material) -> EditRecord:
    return EditRecord(
        id=one.id,
        model=one.model,
        memory=one.memory,
        question=one.question,
        answer=one.answer,
        paraphrases=one.paraphrases,
        method=one.method,
        material=made.block.digest,
        order=made.block.order,
        notes={**made.notes, **one.notes},
        triple=one.triple,
    )


def _nothing(count: int) -> str:
    which = "this question has" if count == 1 else f"all {count:,} questions have"
    return f"{which} the wanted answer already; there is nothing to edit"
