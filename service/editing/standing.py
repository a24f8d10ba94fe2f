"""How the fact tests of all active edits stand at one version.

Where a system tells who speaks (`System.speakers`) nobody asks: an edit that speaks says its own answer. The others,
and wordings that the base answers, are asked by `check`, and by a commit when it may have moved them; in between,
what was said once still holds. A test that nobody asked yet is taken to hold, as it did when its edit was made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from errata.wire import BrokenTest, CheckReport, EditCounts, SupersededTest

from service.editing.fact_tests import FactTest, Key, Successors, version_of
from service.editing.reading import Reading, Said, Speakers
from service.ledger.commit import EditRecord

Readings: TypeAlias = Mapping[str, Reading]  # by model
Doubt: TypeAlias = tuple[
    FactTest, str | None
]  # a test, and the other edit that answers it; None: only asking tells


@dataclass(frozen=True)
class Standing:
    """edits, tests: how many there are; all hold but those that are named."""

    edits: int
    tests: int
    broken: Mapping[Key, BrokenTest]
    superseded: Mapping[Key, SupersededTest]

    def counts(self, made: int) -> EditCounts:
        """made: edits in all, those taken back included. An edit is superseded when its question is."""
        superseded = {edit for edit, place in self.superseded if place == 0}
        broken = {edit for edit, _ in self.broken} - superseded
        return EditCounts(
            active=self.edits,
            holding=self.edits - len(broken) - len(superseded),
            broken=len(broken),
            superseded=len(superseded),
            reverted=made - self.edits,
        )


async def standing(edits: Sequence[EditRecord], readings: Readings) -> Standing:
    """Of active edits in ledger order, from what is known without asking anything more."""
    doubts = await _doubts(edits, readings)
    tests = sum(len(edit.wordings) for edit in edits if edit.model in readings)
    if not doubts:
        return Standing(len(edits), tests, {}, {})
    by_id, successors = {edit.id: edit for edit in edits}, Successors(edits)
    broken: dict[Key, BrokenTest] = {}
    superseded: dict[Key, SupersededTest] = {}
    for test, speaker in doubts:
        said = _said(test, speaker, by_id, readings)
        if said is not None and test.holds(said):
            continue
        heir = successors.of(test, said)
        if heir is not None:
            superseded[test.key] = _superseded(test, said, by_id[heir])
        elif said is not None:
            broken[test.key] = test.failed(said.answer)
    return Standing(len(edits), tests, broken, superseded)


async def check(version: int, edits: Sequence[EditRecord], readings: Readings, made: int) -> CheckReport:
    """Of active edits in ledger order, with all asked that only asking tells. made: edits in all."""
    for model, questions in (await _unspoken(edits, readings)).items():
        await readings[model].ask(questions)
    now = await standing(edits, readings)
    return CheckReport(
        version=version,
        total=now.tests,
        holding=now.tests - len(now.broken) - len(now.superseded),
        broken=list(now.broken.values()),
        superseded=len(now.superseded),
        edits=now.counts(made),
        superseded_tests=list(now.superseded.values()),
    )


async def ask_moved(edits: Sequence[EditRecord], before: Readings, after: Readings) -> None:
    """Ask, of all that only asking tells, what `after` may answer otherwise than `before`; on both sides."""
    changed = {model: reading for model, reading in after.items() if reading is not before[model]}
    for model, questions in (await _unspoken(edits, changed)).items():
        await after[model].moved_since(before[model], questions)


async def tell(tests: Iterable[FactTest], edits: Mapping[str, EditRecord], readings: Readings) -> None:
    """Make the answers to these tests known: by who speaks, or else by asking. edits: whoever may speak."""
    spoken = await _spoken(readings)
    questions: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        model = test.record.model
        speaker = _speakers(test.record, spoken)[test.place]
        if speaker is None:
            questions[model].append(test.question)
        else:
            readings[model].known.setdefault(test.question, _says(edits[speaker]))
    for model, some in questions.items():
        await readings[model].ask(some)


async def _doubts(edits: Iterable[EditRecord], readings: Readings) -> list[Doubt]:
    """The tests that their own edit does not answer for certain."""
    spoken = await _spoken(readings)
    found: list[Doubt] = []
    for edit in edits:
        if edit.model in readings:
            speakers = _speakers(edit, spoken)
            if speakers.count(edit.id) < len(speakers):
                found += [(FactTest(edit, p), who) for p, who in enumerate(speakers) if who != edit.id]
    return found


async def _unspoken(edits: Iterable[EditRecord], readings: Readings) -> Mapping[str, list[str]]:
    """By model."""
    questions: dict[str, list[str]] = defaultdict(list)
    for test, speaker in await _doubts(edits, readings):
        if speaker is None:
            questions[test.record.model].append(test.question)
    return questions


async def _spoken(readings: Readings) -> Mapping[str, Speakers]:
    return {model: await reading.speakers() for model, reading in readings.items()}


def _speakers(edit: EditRecord, spoken: Mapping[str, Speakers]) -> Sequence[str | None]:
    return spoken[edit.model].get(edit.id) or (None,) * len(edit.wordings)


def _said(
    test: FactTest, speaker: str | None, edits: Mapping[str, EditRecord], readings: Readings
) -> Said | None:
    """What was really said counts for more than who speaks."""
    known = readings[test.record.model].known.get(test.question)
    return known or (None if speaker is None else _says(edits[speaker]))


def _says(edit: EditRecord) -> Said:
    return Said(edit.answer, (edit.id,))


def _superseded(test: FactTest, said: Said | None, heir: EditRecord) -> SupersededTest:
    failed = test.failed(heir.answer if said is None else said.answer)
    return SupersededTest(**failed.model_dump(), by=heir.id, by_version=version_of(heir))
