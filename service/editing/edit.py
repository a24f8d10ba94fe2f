"""From corrections as they were asked for to a draft: only those that change something, made once from the base."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from errata.wire import EditItem, EditReport, EditRequest, ParaphraseReport

from models.system import Correction, Material
from service.editing.draft import Draft
from service.editing.materials import key
from service.editing.present import Present
from service.editing.reading import Reading
from service.editing.stopwatch import Stopwatch
from service.editing.systems import Systems
from service.editing.wording import plain
from service.errors import InvalidInput, NothingToDo
from service.ledger.commit import EditRecord, Kind, canonical, edit_order, new_edit_id, sha256
from service.ledger.fold import Change

KNOWN = "the model gives this answer already: nothing was written for it"
TWICE = "the same correction stands earlier in this request: nothing was written for it"


@dataclass(frozen=True)
class Wanted:
    """One correction of the request. repeated: an earlier one says all of it."""

    item: EditItem
    method: str
    repeated: bool = False
    id: str = field(default_factory=new_edit_id)

    @cached_property
    def paraphrases(self) -> tuple[str, ...]:
        """Without repetitions."""
        known = {plain(self.item.question)}
        fresh = []
        for wording in self.item.paraphrases:
            if plain(wording) not in known:
                known.add(plain(wording))
                fresh.append(wording)
        return tuple(fresh)

    @property
    def wordings(self) -> tuple[str, ...]:
        return (self.item.question, *self.paraphrases)


class Editing:
    """The plan of POST /admin/edits."""

    kind: Kind = "edit"

    def __init__(self, asked: EditRequest, systems: Systems) -> None:
        self.message = asked.message
        self._dry_run = asked.dry_run
        self.request = digest("edit", asked.model_dump(mode="json", include={"edits", "message", "method"}))
        self._systems = systems
        self._wanted = _wanted(asked, systems)
        self._made: dict[str, Material] = {}
        self._needed: set[int] = set()

    async def draft(self, present: Present, watch: Stopwatch) -> Draft:
        with watch.part("report"):
            idle = await self._idle(present)
        fresh = [one for place, one in enumerate(self._wanted) if place not in idle]
        if not fresh and not self._dry_run:
            raise NothingToDo(_nothing(len(idle)), version=present.version)
        with watch.part("editor"):
            await self._make(fresh)
        materials = [self._placed(one, present.version + 1, index) for index, one in enumerate(fresh)]
        records = [self._record(one, made) for one, made in zip(fresh, materials, strict=True)]
        change = Change(tuple(one.id for one in fresh), ())
        return Draft(change, None, tuple(records), tuple(materials), idle)

    async def stands(self, draft: Draft, after: Mapping[str, Reading]) -> bool:
        """Not when a correction that needed no rows does because of the others."""
        await _ask(after, [self._wanted[place] for place in draft.idle])
        needed = {place for place in draft.idle if not _comes_out(self._wanted[place], after)}
        self._needed |= needed
        return not needed

    async def _idle(self, present: Present) -> dict[int, EditReport]:
        """The corrections that need no rows, each with its report."""
        await _ask(present.readings, self._wanted)
        return {
            place: _idle_report(one, present.readings[one.item.model])
            for place, one in enumerate(self._wanted)
            if place not in self._needed and (one.repeated or _comes_out(one, present.readings))
        }

    async def _make(self, fresh: Sequence[Wanted]) -> None:
        """From the base alone, so what was made for one version is right on every other."""
        groups: dict[tuple[str, str], list[Correction]] = defaultdict(list)
        for one in fresh:
            if one.id not in self._made:
                correction = Correction(one.id, one.item.question, one.item.answer, one.paraphrases)
                groups[one.item.model, one.method].append(correction)
        for (model, method), corrections in groups.items():
            for made in await self._systems.materials(model, corrections, method):
                self._made[made.edit] = made

    def _placed(self, one: Wanted, version: int, index: int) -> Material:
        made = self._made[one.id]
        block = replace(made.block, key=key(one.id), order=edit_order(version, index))
        return replace(made, block=block)

    def _record(self, one: Wanted, made: Material) -> EditRecord:
        return EditRecord(
            id=one.id,
            model=one.item.model,
            memory=self._systems.of(one.item.model).memory,
            question=one.item.question,
            answer=one.item.answer,
            paraphrases=one.paraphrases,
            method=one.method,
            material=made.block.digest,
            order=made.block.order,
            notes=made.notes,
        )


def digest(kind: Kind, asked: Mapping[str, object]) -> str:
    """Names a request by what it asks for."""
    return sha256(canonical({"kind": kind, **asked}))


def _wanted(asked: EditRequest, systems: Systems) -> list[Wanted]:
    """InvalidInput when two corrections give one question two answers."""
    said: dict[tuple[str, str], tuple[int, str]] = {}
    wanted = []
    for place, item in enumerate(asked.edits):
        one = Wanted(item, systems.method(item.model, asked.method))
        repeated = True
        for wording in one.wordings:
            first, answer = said.setdefault((item.model, plain(wording)), (place, item.answer))
            repeated &= first != place
            if answer != item.answer:
                detail = f"edits.{first} and edits.{place} give {wording!r} two answers: keep one of them"
                raise InvalidInput(detail, field=f"edits.{place}")
        wanted.append(replace(one, repeated=repeated))
    return wanted


async def _ask(readings: Mapping[str, Reading], wanted: Sequence[Wanted]) -> None:
    questions: dict[str, list[str]] = defaultdict(list)
    for one in wanted:
        questions[one.item.model] += one.wordings
    for model, some in questions.items():
        await readings[model].ask(some)


def _comes_out(one: Wanted, readings: Mapping[str, Reading]) -> bool:
    """In all its wordings, which have been asked."""
    known = readings[one.item.model].known
    return all(known[wording].answer == one.item.answer for wording in one.wordings)


def _idle_report(one: Wanted, before: Reading) -> EditReport:
    """After the commit it comes out in all wordings: else the draft does not stand."""
    answer, known = one.item.answer, before.known
    others = [
        ParaphraseReport(question=q, before=known[q].answer, after=answer, follows=True)
        for q in one.paraphrases
    ]
    return EditReport(
        id="",
        question=one.item.question,
        answer=answer,
        method=one.method,
        before=known[one.item.question].answer,
        after=answer,
        holds=True,
        paraphrases=others,
        warnings=[TWICE if one.repeated else KNOWN],
    )


def _nothing(count: int) -> str:
    which = "this question has" if count == 1 else f"all {count:,} questions have"
    return f"{which} the wanted answer already; there is nothing to edit"
