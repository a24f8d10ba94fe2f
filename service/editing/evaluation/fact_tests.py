"""Fact tests: every wording of every edit with its answer, kept for ever, so that no later edit silently breaks one.

A test holds when its answer comes out, whichever edit gives it. Otherwise it is superseded if a later edit took its
place: the later edit has the same wording, or it corrected the answer of the earlier one, and its notes list that one
in `replaces`. Otherwise it is broken.

Given tests came with an edit: questions of a curator whose answers follow from it, or have to stay. A check asks them
as long as their edit is active, and a dry run; a commit does not. They are part of the edit's record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeAlias

from errata.wire import BrokenTest, FailingTest, ParaphraseReport
from errata.wire.wording import normalize_question

from service.editing.draft import TO_REPLACE, Build, EditorState
from service.editing.evaluation.expectations import ask_all, ask_edits, comes_out, report_paraphrase
from service.editing.models import Answer, ModelsAtVersion
from service.ledger.commit import EDITS_PER_COMMIT, EditRecord, GivenTest
from service.ledger.fold import ActiveRecords

TestKey: TypeAlias = tuple[str, int]


class FactTest(NamedTuple):
    """One wording of an edit; place 0 is the edit's question."""

    record: EditRecord
    place: int

    @property
    def key(self) -> TestKey:
        return self.record.id, self.place

    @property
    def question(self) -> str:
        return self.record.wordings[self.place]

    def holds(self, answer: Answer) -> bool:
        return comes_out(self.record, answer)

    def report(self, actual: str | None) -> BrokenTest:
        return BrokenTest(
            edit=self.record.id,
            version=version_of(self.record),
            question=self.question,
            expected=self.record.answer,
            actual=actual,
        )


def version_of(edit: EditRecord) -> int:
    """Return the version of the commit that made the edit."""
    return edit.order // EDITS_PER_COMMIT


def is_named(edit: EditRecord, names: Collection[int | str]) -> bool:
    """Return whether names contain the edit's id or the version that made it."""
    return edit.id in names or version_of(edit) in names


class Successors:
    """The active edits that replaced others, directly or through ones that were taken back.

    Args:
        tests: The tests that will be looked up.
    """

    def __init__(self, edits: ActiveRecords, tests: Sequence[FactTest]) -> None:
        self._edits, self._tests = edits, tests

    @cached_property
    def _last_by_wording(self) -> Mapping[tuple[str, str], EditRecord]:
        """The last edit that has each wording of the tests, by model and wording."""
        wordings = {normalize_question(test.question) for test in self._tests}
        return {
            (edit.model, wording): edit
            for edit in self._edits.in_order
            for wording in map(normalize_question, edit.wordings)
            if wording in wordings
        }

    @cached_property
    def _replacements(self) -> Mapping[str, Sequence[EditRecord]]:
        """The active edits that replaced each edit, directly or through others, in ledger order."""
        replacing = {
            edit.id: edit
            for edit in reversed(list(self._edits.all_edits.values()))
            if "replaces" in edit.notes
        }
        successors: dict[str, dict[str, None]] = defaultdict(dict)
        for edit in replacing.values():
            for earlier in edit.notes["replaces"]:
                successors[earlier] |= dict.fromkeys((*successors[edit.id], edit.id))
        return {
            earlier: sorted(
                (replacing[id] for id in ids if id in self._edits.ids), key=lambda edit: edit.order
            )
            for earlier, ids in successors.items()
        }

    def is_on_purpose(self, earlier: EditRecord, later: EditRecord) -> bool:
        """Return whether a chain of intended replacements leads from one edit to the other.

        A replacement is intended if the later edit has the earlier one's question or was told to replace it.
        """
        seen_ids, open_ = {earlier.id}, [earlier]
        while open_:
            edit = open_.pop()
            following = [*self._replacements.get(edit.id, ()), later]
            fresh = [other for other in following if other.id not in seen_ids and _is_on_purpose(edit, other)]
            seen_ids |= {other.id for other in fresh}
            open_ += fresh
        return later.id in seen_ids

    def of(self, test: FactTest, answer: Answer | None) -> EditRecord | None:
        """Return the edit that superseded a test: one that replaced its edit and answers, or the last of its wording.

        Args:
            answer: None for a wording that was not asked. Then a replacement is taken to answer, and a value that an
                edit added to others is taken to be there still.
        """
        replacements = self._replacements.get(test.record.id, ())
        if answer is not None:
            replacements = [edit for edit in replacements if edit.id in answer.edits]
        elif test.record.triple is not None and test.record.triple.act == "add":
            return None
        if replacements:
            return replacements[-1]
        last = self._last_by_wording[test.record.model, normalize_question(test.question)]
        return last if last.id != test.record.id else None


def _is_on_purpose(earlier: EditRecord, later: EditRecord) -> bool:
    if is_named(earlier, later.notes.get(TO_REPLACE, ())):
        return True
    return normalize_question(earlier.question) in map(normalize_question, later.wordings)


def _find_targets(record: EditRecord, state: EditorState) -> list[str]:
    """Return the active edits that this one was told to replace."""
    names = record.notes.get(TO_REPLACE, ())
    active = state.active_records.in_order if names else []
    return [edit.id for edit in active if edit.memory == record.memory and is_named(edit, names)]


async def mark_superseded(build: Build) -> Build:
    """Add to the notes of new edits, as `replaces`, the earlier edits whose fact tests they supersede.

    It is not enough that an earlier edit answered the question, which may have been routed to it wrongly: the new
    edit has to answer the earlier one's question as well. The edits that it was told to replace count in any case.
    """
    state, records = build.state, build.draft.records
    before = await ask_all(state.models, ((edit.model, edit.wordings[:1]) for edit in records))
    earlier = {
        record.id: [
            state.edits[edit]
            for edit in dict.fromkeys(
                [*before[record.model][record.question].edits, *_find_targets(record, state)]
            )
            if edit in state.edits and state.edits[edit].question
        ]
        for record in records
        if record.question
    }
    answers = await ask_edits(build.models, chain.from_iterable(earlier.values()), build.all_edits, 1)
    marked_records = []
    for record in records:
        replaces = [
            edit.id
            for edit in earlier.get(record.id, ())
            if record.id in (answer := answers[edit.model][edit.question]).edits and comes_out(record, answer)
        ]
        notes = {**record.notes, "replaces": replaces} if replaces else record.notes
        marked_records.append(replace(record, notes=notes) if replaces else record)
    return replace(build, draft=replace(build.draft, records=tuple(marked_records)))


async def note_present_answers(build: Build) -> Build:
    """Let each new test without an answer expect the one that is given before the commit."""
    records = build.draft.records
    questions = [
        (record.model, [test.question for test in record.tests if test.answer is None]) for record in records
    ]
    if not any(batch for _, batch in questions):
        return build
    before = await ask_all(build.state.models, questions)

    def complete(test: GivenTest, model: str) -> GivenTest:
        return replace(test, answer=before[model][test.question].text) if test.answer is None else test

    records = tuple(
        replace(record, tests=tuple(complete(test, record.model) for test in record.tests))
        for record in records
    )
    return replace(build, draft=replace(build.draft, records=records))


async def try_given_tests(build: Build) -> dict[str, list[ParaphraseReport]]:
    """Ask the tests of new edits before the commit and after it, and return the reports by edit."""
    records = [record for record in build.draft.records if record.tests]
    questions = [(record.model, [test.question for test in record.tests]) for record in records]
    before, after = await ask_all(build.state.models, questions), await ask_all(build.models, questions)
    return {
        record.id: [
            report_paraphrase(
                test.question,
                before[record.model],
                after[record.model],
                after[record.model][test.question].text == test.answer,
            )
            for test in record.tests
        ]
        for record in records
    }


async def run_given_tests(
    active: Sequence[EditRecord], superseded: Collection[str], models: ModelsAtVersion
) -> tuple[int, list[FailingTest]]:
    """Ask the tests that came with edits, and return their number and those that fail.

    A question that an edit of the same commit or of a later one answers is left to that edit.

    Args:
        superseded: Ids of those whose questions later edits answer; their tests are left out.
    """
    last_versions = {
        (edit.model, normalize_question(wording)): version_of(edit)
        for edit in active
        for wording in edit.wordings
    }
    tests = [
        (edit, test)
        for edit in active
        if edit.tests and edit.id not in superseded and edit.model in models
        for test in edit.tests
        if last_versions.get((edit.model, normalize_question(test.question)), 0) < version_of(edit)
    ]
    answers = await ask_all(models, ((edit.model, [test.question]) for edit, test in tests))
    versions = {edit.id: version_of(edit) for edit in active}
    failing = [
        FailingTest(
            edit=edit.id,
            version=version_of(edit),
            question=test.question,
            expected=test.answer,
            actual=answer.text,
            by_version=max((versions[id] for id in answer.edits if id in versions), default=None),
        )
        for edit, test in tests
        if (answer := answers[edit.model][test.question]).text != test.answer
    ]
    return len(tests), failing
