"""Fact tests: every wording of every edit with its answer, kept for ever, so that no later edit breaks one silently.

A test is void, and nobody is told that it is broken, when a later edit was made to answer anew: it has the same
wording, or what it corrected was the answer of the earlier edit (its notes then say `replaces`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from errata.wire import BrokenTest, CheckReport

from service.editing.reading import Reading
from service.editing.wanted import comes_out
from service.editing.wording import plain, words
from service.ledger.commit import EDITS_PER_COMMIT, EditRecord

State = Literal["holding", "void", "broken"]


class FactTest(NamedTuple):
    """One wording of an edit. heirs: active edits that replaced it."""

    record: EditRecord
    question: str
    heirs: frozenset[str] = frozenset()

    @property
    def edit(self) -> str:
        return self.record.id

    @property
    def version(self) -> int:
        """Of the commit that made the edit."""
        return self.record.order // EDITS_PER_COMMIT

    def state(self, readings: Mapping[str, Reading]) -> State:
        """The question has to be asked before."""
        said = readings[self.record.model].known[self.question]
        if comes_out(self.record, said.answer, said.objects):
            return "holding"
        return "void" if self.heirs.intersection(said.edits) else "broken"

    def broken(self, readings: Mapping[str, Reading]) -> BrokenTest:
        return BrokenTest(
            edit=self.edit,
            version=self.version,
            question=self.question,
            expected=self.record.answer,
            actual=readings[self.record.model].known[self.question].answer,
        )


def fact_tests_of(edits: Sequence[EditRecord]) -> tuple[list[FactTest], int]:
    """The tests that count among active edits in ledger order, and how many do not: another edit has the wording."""
    heirs, nobody = heirs_of(edits), frozenset[str]()
    speaks = _speaking(edits)
    counting = [
        FactTest(edit, question, heirs.get(edit.id, nobody))
        for edit in edits
        for question in edit.wordings
        if speaks[edit.model, plain(question)] == edit.id
    ]
    return counting, sum(len(edit.wordings) for edit in edits) - len(counting)


def _speaking(edits: Sequence[EditRecord]) -> Mapping[tuple[str, str], str]:
    """Model and wording -> the last edit that has it."""
    return {(edit.model, plain(q)): edit.id for edit in edits for q in edit.wordings}


def heirs_of(edits: Sequence[EditRecord]) -> Mapping[str, frozenset[str]]:
    """Edit -> the later ones that replaced it, or replaced one that did."""
    heirs: dict[str, set[str]] = defaultdict(set)
    for edit in reversed(edits):
        for replaced in edit.notes.get("replaces", ()):
            heirs[replaced] |= {edit.id} | heirs[edit.id]
    return {key: frozenset(found) for key, found in heirs.items() if found}


def superseded(edits: Sequence[EditRecord]) -> int:
    """How many active edits have their question answered by a later one."""
    heirs = heirs_of(edits)
    speaks = _speaking(edits)
    asked = [edit for edit in edits if edit.question]
    return sum(speaks[e.model, plain(e.question)] != e.id or bool(heirs.get(e.id)) for e in asked)


def nearest(tests: Sequence[FactTest], questions: Iterable[str], most: int) -> list[FactTest]:
    """Those to run when there are too many: most words in common with the questions, then the newest."""
    if len(tests) <= most:
        return list(tests)
    near = frozenset[str]().union(*map(words, questions))
    places = sorted(range(len(tests)), key=lambda p: (-len(words(tests[p].question) & near), -p))
    return [tests[place] for place in sorted(places[:most])]


def questions_of(tests: Iterable[FactTest]) -> Mapping[str, list[str]]:
    """By model: what has to be asked before `state` and `broken` can tell."""
    questions: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        questions[test.record.model].append(test.question)
    return questions


async def check(version: int, edits: Sequence[EditRecord], readings: Mapping[str, Reading]) -> CheckReport:
    """All that count, at one version."""
    tests, void = fact_tests_of([edit for edit in edits if edit.model in readings])
    for model, questions in questions_of(tests).items():
        await readings[model].ask(questions)
    states = [test.state(readings) for test in tests]
    return CheckReport(
        version=version,
        total=len(tests) - states.count("void"),
        holding=states.count("holding"),
        broken=[t.broken(readings) for t, state in zip(tests, states, strict=True) if state == "broken"],
        superseded=void + states.count("void"),
    )
