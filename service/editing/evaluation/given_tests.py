"""Tests that came with edits: questions of a curator whose answers follow from an edit, or have to stay.

A check asks them as long as their edit is active, and a dry run; a commit does not. They are part of the edit's record.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from errata.wire import FailingTest, ParaphraseReport
from errata.wire.wording import normalize_question

from service.editing.draft import Build
from service.editing.evaluation.expectations import ask_all, report_paraphrase
from service.editing.evaluation.fact_tests import version_of
from service.editing.models import ModelsAtVersion
from service.ledger.commit import EditRecord, GivenTest


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
        active: The active edits, in ledger order.
        superseded: Ids of those whose questions later edits answer; their tests are left out.
        models: The models that are asked.
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
