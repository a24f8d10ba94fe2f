"""How the fact tests of all active edits stand at one version.

Where a system tells who speaks (`System.speakers`) nobody asks: an edit that speaks says its own answer. The others,
and wordings that the base answers, are asked by `check`, and by a commit when it may have moved them; in between,
what was said once still holds. A test that nobody asked yet is taken to hold, as it did when its edit was made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from errata.wire import BrokenTest, CheckReport, EditCounts, SupersededTest

from service.ledger.commit import EditRecord
from service.measuring.fact_tests import FactTest, Key, Successors, version_of
from service.measuring.reading import Reading, Said

Readings: TypeAlias = Mapping[str, Reading]  # by model
Edits: TypeAlias = Mapping[str, EditRecord]  # all that were ever made, those taken back too, in ledger order
Doubt: TypeAlias = tuple[FactTest, str | None]  # and the other edit that answers it; None: only asking tells


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


async def standing(edits: Sequence[EditRecord], made: Edits, readings: Readings) -> Standing:
    """Of active edits in ledger order, from what is known without asking anything more."""
    return _standing(edits, made, await _doubts(edits, readings), readings)


async def check(version: int, edits: Sequence[EditRecord], made: Edits, readings: Readings) -> CheckReport:
    """Of active edits in ledger order, with all asked that only asking tells."""
    found = await _doubts(edits, readings)
    for model, questions in _unspoken(found).items():
        await readings[model].ask(questions)
    now = _standing(edits, made, found, readings)
    return CheckReport(
        version=version,
        total=now.tests,
        holding=now.tests - len(now.broken) - len(now.superseded),
        broken=list(now.broken.values()),
        superseded=len(now.superseded),
        edits=now.counts(len(made)),
        superseded_tests=list(now.superseded.values()),
    )


async def moved_standing(
    edits: Sequence[EditRecord], made: Edits, before: Readings, after: Readings, switched: Set[str]
) -> Standing:
    """As `standing`, when what only asking tells was asked on both sides, as far as `after` may answer otherwise.

    edits: those that are active after. switched: those that are not on both sides, whose tests are not asked.
    """
    found = await _doubts(edits, after)
    for model, questions in _unspoken(one for one in found if one[0].record.id not in switched).items():
        moved = await after[model].moved_since(before[model], questions)
        await before[model].ask(moved)
        await after[model].ask(moved)
    return _standing(edits, made, found, after)


async def tell(tests: Iterable[FactTest], edits: Mapping[str, EditRecord], readings: Readings) -> None:
    """Make the answers to these tests known: by who of `edits` speaks, or else by asking."""
    questions: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        reading = readings[test.record.model]
        speaker = (await reading.speakers()).of(test.record.id, test.place)
        if speaker is None or speaker not in edits:
            questions[test.record.model].append(test.question)
        else:
            reading.known.setdefault(test.question, _says(edits[speaker]))
    for model, some in questions.items():
        await readings[model].ask(some)


async def hear(questions: Sequence[str], edits: Mapping[str, EditRecord], reading: Reading) -> None:
    """Make the answers to these questions known: by who of `edits` speaks, or else by asking."""
    unknown = [question for question in questions if question not in reading.known]
    for question, speaker in zip(unknown, await reading.speaking(unknown), strict=True):
        if speaker is not None and speaker in edits:
            reading.known[question] = _says(edits[speaker])
    await reading.ask(unknown)


async def _doubts(edits: Sequence[EditRecord], readings: Readings) -> list[Doubt]:
    """The tests that their own edit does not answer for certain."""
    found: list[Doubt] = []
    for model, reading in readings.items():
        speakers = await reading.speakers()
        for edit in edits:  # of tens of thousands nearly all are passed over
            if edit.model == model and speakers.speaks_oddly(edit.id):
                who = [speakers.of(edit.id, place) for place in range(len(edit.wordings))]
                found += [(FactTest(edit, p), one) for p, one in enumerate(who) if one != edit.id]
    return found


def _standing(
    edits: Sequence[EditRecord], made: Edits, found: Sequence[Doubt], readings: Readings
) -> Standing:
    tests = sum(len(edit.wordings) for edit in edits if edit.model in readings)
    broken: dict[Key, BrokenTest] = {}
    superseded: dict[Key, SupersededTest] = {}
    speaking = {speaker for _, speaker in found}
    speakers = {edit.id: edit for edit in edits if edit.id in speaking} if found else {}
    successors = Successors(edits, made, [test for test, _ in found])
    for test, speaker in found:
        said = _said(test, speaker, speakers, readings)
        if said is not None and test.holds(said):
            continue
        heir = successors.of(test, said)
        if heir is not None:
            superseded[test.key] = _superseded(test, said, heir)
        elif said is not None:
            broken[test.key] = test.failed(said.answer)
    return Standing(len(edits), tests, broken, superseded)


def _unspoken(found: Iterable[Doubt]) -> Mapping[str, list[str]]:
    """What has to be asked, by model."""
    questions: dict[str, list[str]] = defaultdict(list)
    for test, speaker in found:
        if speaker is None:
            questions[test.record.model].append(test.question)
    return questions


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
