"""Fact tests: every wording of every edit with its answer, kept for ever, so that no later edit silently breaks one.

A test holds when its answer comes out, whichever edit gives it. Otherwise it is superseded if a later edit took its
place: the later edit has the same wording, or it corrected the answer of the earlier one, and its notes list that one
in `replaces`. Otherwise it is broken.

Given tests came with an edit: questions of a curator whose answers follow from it, or have to stay. A check asks them
as long as their edit is active, and a dry run; a commit does not. They are part of the edit's record.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain

from errata.wire import FailingTest, ParaphraseReport
from errata.wire.wording import normalize_question

from service.editing.draft import TO_REPLACE, Build, EditorState
from service.editing.evaluation.expectations import ask_all, ask_edits, comes_out, report_paraphrase
from service.editing.evaluation.lineage import is_named, version_of
from service.editing.models import ModelsAtVersion
from service.ledger.commit import EditRecord, GivenTest


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
