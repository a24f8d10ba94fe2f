"""From edits as they were asked for to a draft: only what changes something, made once from the base."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from errata.wire import EditItem, EditReport, EditRequest, FactItem, ParaphraseReport, RelationItem

from models.graph.blocks import statements_block
from models.system import Correction, Material
from service.editing.draft import Draft
from service.editing.materials import key as key_of
from service.editing.present import Present
from service.editing.reading import Reading
from service.editing.resolving import Resolver, cleaned
from service.editing.stopwatch import Stopwatch
from service.editing.systems import Systems
from service.editing.triples import cleaned_relation, wanted_of_fact, wanted_of_relation
from service.editing.wanted import Wanted, comes_out
from service.editing.wording import plain
from service.errors import InvalidInput, NothingToDo, UnknownModel
from service.ledger.commit import EditRecord, Kind, canonical, edit_order, new_edit_id, sha256
from service.ledger.fold import Change

SAID_ALREADY = "the graph says so already; there is nothing to edit"
KNOWN = "the model gives this answer already: nothing was written for it"
TWICE = "the same correction stands earlier in this request: nothing was written for it"
NO_GRAPH = "no system that is served here reads the graph, so no triple can be edited: serve kbert"


class Editing:
    """The plan of POST /admin/edits."""

    kind: Kind = "edit"

    def __init__(self, asked: EditRequest, systems: Systems) -> None:
        self.message = asked.message
        self._dry_run = asked.dry_run
        self.request = digest("edit", asked.model_dump(mode="json", include={"edits", "message", "method"}))
        self._systems = systems
        self._items = asked.edits
        self._methods = {model: systems.method(model, asked.method) for model in systems.corrected}
        self._corrections = [
            self._correction(p, i) for p, i in enumerate(asked.edits) if isinstance(i, EditItem)
        ]
        if len(self._corrections) < len(asked.edits) and not systems.on_graph:
            raise UnknownModel(NO_GRAPH, models=list(systems.names))
        self._ids: dict[tuple[int, str], str] = defaultdict(new_edit_id)
        self._made: dict[tuple[str, str, str], Material] = {}
        self._needed: set[str] = set()
        self._wanted: list[Wanted] = []

    async def draft(self, present: Present, watch: Stopwatch) -> Draft:
        with watch.part("editor"):
            self._wanted = once([*self._corrections, *await self._on_graph(present)])
        with watch.part("report"):
            idle = await self._idle(present)
        fresh = [one for place, one in enumerate(self._wanted) if place not in idle]
        if not fresh and not self._dry_run:
            asked = any(self._wanted[place].told is None for place in idle)
            raise NothingToDo(_nothing(len(idle)) if asked else SAID_ALREADY, version=present.version)
        with watch.part("editor"):
            await self._make(fresh)
        materials = [self._placed(one, present.version + 1, index) for index, one in enumerate(fresh)]
        records = [_record(one, made) for one, made in zip(fresh, materials, strict=True)]
        change = Change(tuple(one.id for one in fresh), ())
        return Draft(change, None, tuple(records), tuple(materials), idle)

    async def stands(self, draft: Draft, after: Mapping[str, Reading]) -> bool:
        """Not when a correction that needed no rows does because of the others."""
        idle = [self._wanted[place] for place in draft.idle if self._wanted[place].triple is None]
        await _ask(after, idle)
        needed = {one.id for one in idle if one.idle is None and not _comes_out(one, after)}
        self._needed |= needed
        return not needed

    def _correction(self, place: int, item: EditItem) -> Wanted:
        system = self._systems.of(item.model)
        method = self._methods.get(item.model, system.methods[0])
        given = tuple(item.paraphrases)
        return Wanted(place, item.model, system.memory, method, item.question, item.answer, given)

    async def _on_graph(self, present: Present) -> list[Wanted]:
        """The facts, and what is said of relations, on this version of the graph."""
        if len(self._corrections) == len(self._items):
            return []
        view = present.readings[self._systems.on_graph[0]].view
        resolver = Resolver(view, self._systems.lookup)
        found: list[Wanted] = []
        for place, item in enumerate(self._items):
            if isinstance(item, FactItem):
                fact = cleaned(item, place)
                meant = await resolver.meant(fact, place)
                found += wanted_of_fact(fact, meant, place, view, self._systems, self._methods)
            elif isinstance(item, RelationItem):
                relation = cleaned_relation(item, place)
                resolver.define(relation)
                found.append(wanted_of_relation(relation, place, view, self._systems))
        return [replace(one, id=self._ids[one.place, one.model]) for one in _last_answers(found)]

    async def _idle(self, present: Present) -> dict[int, EditReport]:
        """What needs no rows, each with its report."""
        await _ask(present.readings, self._wanted)
        return {
            place: _idle_report(one, present.readings[one.model])
            for place, one in enumerate(self._wanted)
            if one.id not in self._needed and self._is_idle(one, present)
        }

    def _is_idle(self, one: Wanted, present: Present) -> bool:
        if one.told is not None:
            return one.idle is not None
        return one.repeated or _comes_out(one, present.readings)

    async def _make(self, fresh: Sequence[Wanted]) -> None:
        """From the base alone, so what was made for one version is right on every other."""
        groups: dict[tuple[str, str], list[Wanted]] = defaultdict(list)
        for one in fresh:
            if one.told is None and _content(one) not in self._made:
                groups[one.model, one.method].append(one)
        for (model, method), some in groups.items():
            corrections = [Correction(one.id, one.question, one.answer, one.paraphrases) for one in some]
            made = await self._systems.materials(model, corrections, method)
            self._made.update(zip(map(_content, some), made, strict=True))

    def _placed(self, one: Wanted, version: int, index: int) -> Material:
        place = edit_order(version, index)
        if one.told is not None:
            return Material(one.id, one.method, statements_block(key_of(one.id), place, one.told))
        made = self._made[_content(one)]
        return replace(made, block=replace(made.block, key=key_of(one.id), order=place))


def digest(kind: Kind, asked: Mapping[str, object]) -> str:
    """Names a request by what it asks for."""
    return sha256(canonical({"kind": kind, **asked}))


def once(wanted: Sequence[Wanted]) -> list[Wanted]:
    """In the order of the request, repetitions marked. InvalidInput when one question is given two answers."""
    said: dict[tuple[str, ...], Wanted] = {}
    found = []
    for one in sorted(wanted, key=lambda one: one.place):
        repeated = bool(one.wordings)
        for wording, what in _about(one):
            first = said.setdefault((one.model, *what), one)
            repeated &= first is not one
            if _contradicts(first, one):
                detail = f"edits.{first.place} and edits.{one.place} give {wording!r} two answers: keep one of them"
                raise InvalidInput(detail, field=f"edits.{one.place}")
        found.append(replace(one, repeated=repeated))
    return found


def _about(one: Wanted) -> list[tuple[str, tuple[str, ...]]]:
    """What is answered, in words and as a key: its wordings; where nobody can ask for it, what it is said of."""
    if one.wordings or one.told is None:
        return [(wording, (plain(wording),)) for wording in one.wordings]
    if one.triple is None:
        return [(str(one.notes["define"]), (subject, "")) for subject in one.told]
    subject, relation = one.triple.subject, one.triple.relation
    return [(f"{relation.lstrip('@')} of {subject}", (subject, relation))]


def _last_answers(wanted: Sequence[Wanted]) -> list[Wanted]:
    """Of several facts that make up one answer, the answer after the last of them."""
    last = {(one.model, one.question): one for one in wanted if one.told is None}
    return [one for one in wanted if one.told is not None or last[one.model, one.question] is one]


def _contradicts(first: Wanted, second: Wanted) -> bool:
    """Values that one fact adds to those of another are no contradiction."""
    if first.told is not None and first.triple is None:
        mine, other = first.notes, second.notes
        return any(mine[name] != other[name] for name in ("holds", "label") if name in mine and name in other)
    if first.triple is None or second.triple is None:
        return first.answer != second.answer
    if first.triple.subject != second.triple.subject:  # namesakes
        return False
    return "set" in (first.triple.act, second.triple.act) and first.triple != second.triple


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


async def _ask(readings: Mapping[str, Reading], wanted: Sequence[Wanted]) -> None:
    questions: dict[str, list[str]] = defaultdict(list)
    for one in wanted:
        questions[one.model] += one.wordings
    for model, some in questions.items():
        await readings[model].ask(some)


def _comes_out(one: Wanted, readings: Mapping[str, Reading]) -> bool:
    """In all its wordings, which have been asked."""
    known = readings[one.model].known
    return all(comes_out(one, known[w].answer, known[w].objects) for w in one.wordings)


def _idle_report(one: Wanted, before: Reading) -> EditReport:
    """After the commit it comes out in all wordings: else the draft does not stand."""
    known = before.known
    now = known[one.question].answer if one.question else one.answer
    after = one.answer if one.told is None else now
    others = [
        ParaphraseReport(question=q, before=known[q].answer, after=after, follows=True)
        for q in one.paraphrases
    ]
    return EditReport(
        id="",
        model=one.model,
        memory=one.memory,
        question=one.question,
        answer=one.answer,
        method=one.method,
        before=now,
        after=after,
        holds=True,
        paraphrases=others,
        notes={name: value for name, value in one.notes.items() if name != "warnings"},
        warnings=[one.idle or (TWICE if one.repeated else KNOWN), *one.notes.get("warnings", ())],
    )


def _nothing(count: int) -> str:
    which = "this question has" if count == 1 else f"all {count:,} questions have"
    return f"{which} the wanted answer already; there is nothing to edit"
