"""What a commit would do, measured by asking before and after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errata.wire import BrokenTest, EditReport, ParaphraseReport, RefusedEdit, Report, SupersededTest

from models.graph.memory import GRAPH
from service.errors import JSON, BreaksTests, EditRefused
from service.ledger.commit import EditRecord
from service.measuring.answered import DOES_NOT_HOLD
from service.measuring.bystanders import Bystanders
from service.measuring.capacity import Room
from service.measuring.draft import Draft
from service.measuring.fact_tests import FactTest
from service.measuring.present import Present
from service.measuring.reading import Reading
from service.measuring.reworded import reworded
from service.measuring.rewording import Rewording
from service.measuring.standing import Readings, Standing, moved_standing, standing, tell
from service.measuring.stopwatch import Stopwatch
from service.measuring.wanted import comes_out
from service.measuring.wording import plain

MOST_NAMED = 20  # edits that do not hold, in the refusal
MOST_UNDONE = 1_000  # edits that the report of a revert or rollback lists


@dataclass(frozen=True)
class Reporter:
    bystanders: Bystanders
    rewording: Mapping[str, Rewording]
    room: Room

    async def report(
        self, present: Present, draft: Draft, after: Readings, watch: Stopwatch, version: int | None
    ) -> dict[str, Any]:
        """The wire's Report as JSON values. version: which the draft will be; None for a dry run."""
        with watch.part("report"):
            listed, left_out = _listed(present, draft)
            edits = await _edits(listed, draft, present, after)
            told = await reworded(draft.records, self.rewording, present.readings, after)
            edits = [one.model_copy(update={"generated_paraphrases": told.get(one.id, [])}) for one in edits]
            reached = [wording.question for some in told.values() for wording in some]
            concerned = _concerned(present, listed)
            sides = (present.version, version)
            effects = await self.bystanders.changed(concerned, present.readings, after, sides, told=reached)
            tests = await _tests(present, draft, after)
            room = self.room.of(after.values())
        report = Report(
            edits=edits,
            probes=effects.compared,
            unmeasured_probes=effects.unmeasured_probes,
            side_effects=effects.changed,
            broken_tests=tests.broken,
            superseded_tests=tests.superseded,
            test_status=tests.now.counts(len(present.edits) + len(draft.records)),
            capacity=room,
            timings=watch.timings(),
            edits_left_out=left_out,
            refused=list(draft.refused),
        )
        return report.model_dump(mode="json")


def unmeasured(
    present: Present, refused: Sequence[RefusedEdit], room: Room, watch: Stopwatch
) -> dict[str, Any]:
    """The wire's Report of a request that was only looked at."""
    report = Report(
        edits=[],
        probes=0,
        side_effects=[],
        broken_tests=[],
        capacity=room.of(present.readings.values()),
        timings=watch.timings(),
        refused=list(refused),
    )
    return report.model_dump(mode="json")


def refuse_what_does_not_hold(draft: Draft, report: Mapping[str, Any]) -> None:
    """EditRefused when a new edit does not come out in its own words; one that comes back may have a later over it."""
    fresh = {record.id for record in draft.records if record.notes.get("only") != "graph"}
    failing = [edit for edit in report["edits"] if edit["id"] in fresh and not edit["holds"]]
    if failing:
        first, more = failing[0], len(failing) - 1
        said = f"after this edit {first['question']!r} would be answered {first['after']!r}, not {first['answer']!r}"
        others = f" (and {more:,} more would fail)" if more else ""
        otherwise = "keep it in the graph with `only`" if first["memory"] == GRAPH else "use another method"
        advice = f"nothing was changed; see the report of a dry run, or {otherwise}"
        named: list[JSON] = [edit["question"] for edit in failing[:MOST_NAMED]]
        places: list[JSON] = [_failed(edit) for edit in failing]
        raise EditRefused(f"{said}{others}: {advice}", reason=DOES_NOT_HOLD, failing=named, refused=places)


def _failed(edit: Mapping[str, Any]) -> JSON:
    """As a RefusedEdit."""
    detail = f"{edit['question']!r} would be answered {edit['after']!r} and not {edit['answer']!r}"
    return {"place": edit["place"], "code": EditRefused.code, "reason": DOES_NOT_HOLD, "detail": detail}


def refuse_what_breaks(report: Mapping[str, Any]) -> None:
    """BreaksTests when a fact test of an earlier edit held and would not."""
    broken: list[dict[str, JSON]] = report["broken_tests"]
    if broken:
        first, more = broken[0], len(broken) - 1
        said = f"version {first['version']} made {first['question']!r} be answered {first['expected']!r}"
        now = (
            f"after this it would be {first['actual']!r}"
            if first["actual"]
            else "after this nothing would be said"
        )
        others = f" (and {more:,} more would break)" if more else ""
        advice = "nothing was changed; word this differently, take that one back first, or repeat it without strict"
        raise BreaksTests(f"{said}, and {now}{others}: {advice}", tests=broken[:MOST_NAMED])


def _listed(present: Present, draft: Draft) -> tuple[list[EditRecord], int]:
    """The edits to report on: new ones all, of those switched the newest, in ledger order."""
    if draft.records:
        return list(draft.records), 0
    switched = {*draft.change.activates, *draft.change.deactivates}
    edits = [edit for key, edit in present.edits.items() if key in switched]
    return edits[-MOST_UNDONE:], max(0, len(edits) - MOST_UNDONE)


def _concerned(present: Present, listed: Sequence[EditRecord]) -> list[EditRecord]:
    """The edits, and those that they replace: their questions are no bystanders either."""
    replaced = [key for edit in listed for key in edit.notes.get("replaces", ())]
    return [*listed, *(present.edits[key] for key in replaced if key in present.edits)]


async def _edits(
    listed: Sequence[EditRecord], draft: Draft, present: Present, after: Readings
) -> list[EditReport]:
    before = present.readings
    tests = [FactTest(edit, place) for edit in listed for place in range(len(edit.wordings))]
    for model, questions in _by_model(tests).items():
        await before[model].ask(questions)
    await tell(tests, {**present.edits, **{edit.id: edit for edit in draft.records}}, after)
    gone = set(draft.change.deactivates)
    reports = [
        _edit(edit, edit.id in gone, before[edit.model], after[edit.model], _taken_over(present, edit))
        for edit in listed
    ]
    for place, idle in sorted(draft.idle.items()):
        reports.insert(place, idle)
    return [one.model_copy(update={"place": draft.places.get(one.id, one.place)}) for one in reports]


def _taken_over(present: Present, edit: EditRecord) -> list[str]:
    """Questions of earlier edits that this one answers from now on, though it was not given their words."""
    own = {plain(wording) for wording in edit.wordings}
    replaced = (present.edits[key] for key in edit.notes.get("replaces", ()) if key in present.edits)
    return [one.question for one in replaced if one.question and plain(one.question) not in own]


def _edit(
    edit: EditRecord, gone: bool, before: Reading, after: Reading, taken_over: Sequence[str]
) -> EditReport:
    """gone: the edit is taken back, and holds in that it no longer speaks."""

    def as_wanted(question: str) -> bool:
        said = after.known[question]
        return edit.id not in said.edits if gone else comes_out(edit, said.answer, said.objects)

    others = [
        ParaphraseReport(
            question=wording,
            before=before.known[wording].answer,
            after=after.known[wording].answer,
            follows=as_wanted(wording),
        )
        for wording in edit.paraphrases
    ]
    holds = as_wanted(edit.question) if edit.question else True  # the graph says what its edits say
    told: tuple[str | None, str | None] = (edit.notes.get("before"), edit.answer)
    sides = told[::-1] if gone else told
    return EditReport(
        id=edit.id,
        model=edit.model,
        memory=edit.memory,
        question=edit.question,
        answer=edit.answer,
        method=edit.method,
        before=before.known[edit.question].answer if edit.question else sides[0],
        after=after.known[edit.question].answer if edit.question else sides[1],
        holds=holds,
        paraphrases=others,
        notes={name: value for name, value in edit.notes.items() if name != "warnings"},
        warnings=[] if gone else list(_warnings(holds, others, edit.notes, taken_over)),
    )


def _warnings(
    holds: bool, others: Sequence[ParaphraseReport], notes: Mapping[str, Any], taken_over: Sequence[str]
) -> Iterable[str]:
    yield from map(str, notes.get("warnings", ()))
    for question in taken_over:
        yield f"{question!r}, which was corrected before, is taken for the same question and answered like it now"
    if not holds:
        yield "the question does not get this answer: take the edit back, or word the question differently"
    failing = sum(not one.follows for one in others)
    if failing:
        yield f"{failing} of {len(others)} other wordings do not get this answer"


@dataclass(frozen=True)
class _Tests:
    """broken, superseded: tests of edits that this commit does not switch, and that held until now."""

    broken: list[BrokenTest]
    superseded: list[SupersededTest]
    now: Standing


async def _tests(present: Present, draft: Draft, after: Readings) -> _Tests:
    """All fact tests of all active edits."""
    switched = {*draft.change.activates, *draft.change.deactivates}
    then = [*present.active_edits(draft.change), *draft.records]
    made = {**present.edits, **{record.id: record for record in draft.records}}
    now = await moved_standing(then, made, present.readings, after, switched)
    failing = {key for key in (*now.broken, *now.superseded) if key[0] not in switched}
    if failing:
        before = await standing(present.active_edits(), present.edits, present.readings)
        failing -= {*before.broken, *before.superseded}
    broken = [test for key, test in now.broken.items() if key in failing]
    return _Tests(broken, [test for key, test in now.superseded.items() if key in failing], now)


def _by_model(tests: Iterable[FactTest]) -> Mapping[str, list[str]]:
    questions: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        questions[test.record.model].append(test.question)
    return questions
