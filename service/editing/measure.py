"""What a change does, found by asking before and after it: the edited questions, their paraphrases, the probes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from errata.wire import ChangedProbe, EditReport, ParaphraseReport

from models.packs.pack import Pack
from models.system import Reply, System, View
from service.editing.questions import ask
from service.ledger.commit import EditRecord


@dataclass(frozen=True)
class Subject:
    """One edit to report on. wanted: its answer should come out afterwards (else: it is being taken back)."""

    record: EditRecord
    wanted: bool


class Prober:
    """The fixed questions on which side effects show. What they said last is kept, by the memory's checksum."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.questions = tuple(probe.question for probe in Pack.load().probes)
        self._last: tuple[str, list[Reply]] | None = None

    def changed(
        self, before: tuple[str, View], after: tuple[str, View], edited: set[str]
    ) -> list[ChangedProbe]:
        """Probes answered differently, but for the edited questions themselves. Pairs: checksum and view."""
        was, now = self._replies(*before), self._replies(*after)
        return [
            ChangedProbe(question=question, before=old.answer, after=new.answer)
            for question, old, new in zip(self.questions, was, now, strict=True)
            if old.answer != new.answer and question not in edited
        ]

    def _replies(self, checksum: str, view: View) -> list[Reply]:
        if self._last is None or self._last[0] != checksum:
            self._last = checksum, ask(self._system, view, self.questions)
        return self._last[1]


def edit_reports(system: System, before: View, after: View, subjects: Sequence[Subject]) -> list[EditReport]:
    """For each edit, what its question and its paraphrases were answered before, and are now."""
    questions = [q for subject in subjects for q in (subject.record.question, *subject.record.paraphrases)]
    was, now = ask(system, before, questions), ask(system, after, questions)
    reports, place = [], 0
    for subject in subjects:
        size = 1 + len(subject.record.paraphrases)
        part = slice(place, place + size)
        reports.append(_report(subject, questions[part], was[part], now[part]))
        place += size
    return reports


def _report(subject: Subject, asked: Sequence[str], was: Sequence[Reply], now: Sequence[Reply]) -> EditReport:
    record = subject.record
    return EditReport(
        id=record.id,
        question=record.question,
        answer=record.answer,
        method=record.method,
        before=was[0].answer,
        after=now[0].answer,
        holds=(now[0].answer == record.answer) if subject.wanted else record.id not in now[0].edits,
        paraphrases=[
            ParaphraseReport(question=q, before=b.answer, after=a.answer, follows=a.answer == record.answer)
            for q, b, a in zip(asked[1:], was[1:], now[1:], strict=True)
        ],
        notes=dict(record.notes),
        warnings=_warnings(subject, now),
    )


def _warnings(subject: Subject, now: Sequence[Reply]) -> list[str]:
    if not subject.wanted:
        return []
    missed = sum(reply.answer != subject.record.answer for reply in now[1:])
    told = [f"{missed} of {len(now) - 1} paraphrases do not follow"] if missed else []
    replaced = subject.record.notes.get("replaces", [])
    return [*told, *([f"answers instead of edit {', '.join(replaced)}"] if replaced else [])]
