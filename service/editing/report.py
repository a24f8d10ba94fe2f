"""What a commit would do, measured by asking before and after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errata.wire import BrokenTest, Capacity, EditReport, ParaphraseReport, RefusedEdit, Report, TestsRun

from models.graph.memory import GRAPH
from service.editing.bystanders import Bystanders, Readings
from service.editing.draft import Draft
from service.editing.fact_tests import fact_tests_of, nearest, questions_of
from service.editing.present import Present
from service.editing.reading import Reading
from service.editing.stopwatch import Stopwatch
from service.editing.wanted import comes_out
from service.editing.wording import plain
from service.errors import JSON, EditRefused
from service.ledger.commit import EditRecord

MOST_TESTS = 256  # fact tests of earlier edits that one commit re-runs; POST /admin/checks runs all
MOST_NAMED = 20  # edits that do not hold, in the refusal
MOST_UNDONE = 1_000  # edits that the report of a revert or rollback lists


@dataclass(frozen=True)
class Reporter:
    bystanders: Bystanders

    async def report(
        self, present: Present, draft: Draft, after: Readings, watch: Stopwatch
    ) -> dict[str, Any]:
        """The wire's Report as JSON values."""
        with watch.part("report"):
            listed, left_out = _listed(present, draft)
            edits = await _edits(listed, draft, present, after)
            concerned = _concerned(present, listed)
            probed, changed = await self.bystanders.changed(concerned, present.readings, after)
            broken, tests = await _broken(present, draft, listed, after)
            capacity = _capacity(after[model] for model in {edit.model for edit in listed})
        report = Report(
            edits=edits,
            probes=probed,
            changed=changed,
            broken_tests=broken,
            capacity=capacity,
            timings=watch.timings(),
            tests=tests,
            edits_left_out=left_out,
            refused=list(draft.refused),
        )
        return report.model_dump(mode="json")


def unmeasured(present: Present, refused: Sequence[RefusedEdit], watch: Stopwatch) -> dict[str, Any]:
    """The wire's Report of a request that was only looked at."""
    report = Report(
        edits=[],
        probes=0,
        changed=[],
        broken_tests=[],
        capacity=_capacity(present.readings.values()),
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
        raise EditRefused(f"{said}{others}: {advice}", reason="does_not_hold", failing=named)


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
    questions: dict[str, list[str]] = defaultdict(list)
    for edit in listed:
        questions[edit.model] += edit.wordings
    for model, some in questions.items():
        await before[model].ask(some)
        await after[model].ask(some)
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


async def _broken(
    present: Present, draft: Draft, listed: Sequence[EditRecord], after: Readings
) -> tuple[list[BrokenTest], TestsRun]:
    """Fact tests of other edits that held and no longer do, as far as there is time to run them."""
    switched = {*draft.change.activates, *draft.change.deactivates}
    then = [*present.active_edits(draft.change), *draft.records]
    tests = [t for t in fact_tests_of([e for e in then if e.model in after])[0] if t.edit not in switched]
    wordings = [wording for edit in listed for wording in edit.wordings]
    chosen = nearest(tests, wordings, MOST_TESTS)
    moved = {
        (model, question)
        for model, questions in questions_of(chosen).items()
        for question in await after[model].moved_since(present.readings[model], questions)
    }
    broken = [
        test.broken(after)
        for test in chosen
        if (test.record.model, test.question) in moved
        and test.state(present.readings) == "holding"
        and test.state(after) == "broken"
    ]
    return broken, TestsRun(run=len(chosen), total=len(tests))


def _capacity(readings: Iterable[Reading]) -> Capacity:
    each = [reading.system.capacity(reading.image) for reading in readings]
    return Capacity(
        slots_used=sum(one.slots_used for one in each), slots_reserved=sum(one.slots_reserved for one in each)
    )
