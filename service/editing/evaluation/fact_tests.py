"""Fact tests: every wording of every edit with its answer, kept for ever, so that no later edit silently breaks one.

A test holds when its answer comes out, whichever edit gives it. Otherwise it is superseded if a later edit took its
place: the later edit has the same wording, or it corrected the answer of the earlier one, and its notes list that one
in `replaces`. Otherwise it is broken.

A wording that a system routes to an edit is not asked: the edit gives its answer. Others are asked by `run_tests`, and
by a commit that may have changed their answers; in between, the cached answer counts, and none means that it holds.

Given tests came with an edit: questions of a curator whose answers follow from it, or have to stay. A check asks them
as long as their edit is active, and a dry run; a commit does not. They are part of the edit's record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeAlias

from errata.wire import CheckReport, EditCounts, Outcome
from errata.wire.wording import normalize_question

from service.editing.draft import Build, one_line
from service.editing.evaluation.expectations import ask_all, report_paraphrase
from service.editing.evaluation.lineage import (
    FactTest,
    ReplacedFact,
    Successors,
    TestKey,
    version_of,
)
from service.editing.models import Answer, ModelsAtVersion
from service.editing.notes import FactNote, read_note
from service.ledger.commit import EditRecord, GivenTest, Triple
from service.ledger.fold import ActiveRecords

UncertainTest: TypeAlias = tuple[FactTest, str | None]
"""A test that its own edit does not certainly answer, and the edit that does; None where only asking tells."""


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


async def try_given_tests(build: Build) -> dict[str, list[Outcome]]:
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
) -> tuple[int, list[Outcome]]:
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
        Outcome(
            edit=edit.id,
            version=version_of(edit),
            question=test.question,
            before=test.answer,
            after=answer.text,
            by_version=max((versions[id] for id in answer.edits if id in versions), default=None),
        )
        for edit, test in tests
        if (answer := answers[edit.model][test.question]).text != test.answer
    ]
    return len(tests), failing


@dataclass(frozen=True)
class FactTestStatus:
    """The fact tests at one version. All that are not named hold."""

    edits: int  # number of active edits
    broken: Mapping[TestKey, Outcome]
    superseded: Mapping[TestKey, Outcome]

    @property
    def superseded_edits(self) -> Set[str]:
        """The edits whose question is superseded."""
        return {edit for edit, place in self.superseded if place == 0}

    def with_replaced(self, facts: Mapping[TestKey, Outcome]) -> FactTestStatus:
        """Return the status in which the tests of replaced facts are superseded, and not broken."""
        wordings = {
            (edit, place): facts[edit, 0].model_copy(update={"question": test.question})
            for (edit, place), test in self.broken.items()
            if (edit, 0) in facts
        }
        broken = {key: test for key, test in self.broken.items() if key not in wordings}
        return FactTestStatus(self.edits, broken, {**self.superseded, **facts, **wordings})

    def counts(self, total_edits: int) -> EditCounts:
        """Count the edits by status.

        Args:
            total_edits: Number of all edits, those taken back included.
        """
        superseded = self.superseded_edits
        broken = {edit for edit, _ in self.broken} - superseded
        return EditCounts(
            active=self.edits,
            holding=self.edits - len(broken) - len(superseded),
            broken=len(broken),
            superseded=len(superseded),
            reverted=total_edits - self.edits,
        )


async def current_status(edits: ActiveRecords, models: ModelsAtVersion) -> FactTestStatus:
    """Return the status from cached answers, without asking."""
    return _status(edits, await _uncertain_tests(edits, models), models)


async def run_tests(
    version: int, edits: ActiveRecords, models: ModelsAtVersion, replaced_facts: Sequence[ReplacedFact] = ()
) -> CheckReport:
    """Ask the wordings whose edit is not certain, and the tests that came with edits, and report all."""
    uncertain = await _uncertain_tests(edits, models)
    await ask_all(
        models, ((test.record.model, [test.question]) for test, owner in uncertain if owner is None)
    )
    status = _status(edits, uncertain, models).with_replaced(
        {(fact.edit.id, 0): describe_fact(fact) for fact in replaced_facts if is_value(fact.triple)}
    )
    n_tests = sum(len(edit.wordings) for edit in edits.in_order if edit.model in models) + count_facts(edits)
    n_given, failing = await run_given_tests(edits.in_order, status.superseded_edits, models)
    return CheckReport(
        version=version,
        total=n_tests,
        holding=n_tests - len(status.broken) - len(status.superseded),
        broken=list(status.broken.values()),
        superseded=len(status.superseded),
        edits=status.counts(len(edits.all_edits)),
        superseded_tests=list(status.superseded.values()),
        overwritten=[test for test in status.superseded.values() if not test.follows],
        tests=n_given,
        failing_tests=failing,
    )


async def status_after(
    edits: ActiveRecords, before: ModelsAtVersion, after: ModelsAtVersion, switched_ids: Set[str]
) -> FactTestStatus:
    """Return the status after a change; wordings that it may reach are asked on both sides."""
    uncertain = await _uncertain_tests(edits, after)
    common = [item for item in uncertain if item[0].record.id not in switched_ids]
    for model in after:
        questions = [test.question for test, owner in common if owner is None and test.record.model == model]
        differing = await after[model].differing_since(before[model], questions)
        await before[model].ask(differing)
        await after[model].ask(differing)
    return _status(edits, uncertain, after)


async def _uncertain_tests(edits: ActiveRecords, models: ModelsAtVersion) -> list[UncertainTest]:
    """Return the tests that only asking decides, in ledger order; a routed edit is passed over without a look."""
    uncertain: list[UncertainTest] = []
    for model, at_version in models.items():
        routing = await at_version.routing()
        if routing.misroutes is None:
            records = edits.in_order
        else:
            ids = edits.ids & routing.misroutes.keys()
            records = sorted((edits.all_edits[id] for id in ids), key=lambda edit: edit.order)
        for edit in records:
            if edit.model == model:
                owners = (routing.answering_edit(edit.id, place) for place in range(len(edit.wordings)))
                uncertain += [
                    (FactTest(edit, p), owner) for p, owner in enumerate(owners) if owner != edit.id
                ]
    return uncertain


def _status(
    edits: ActiveRecords, uncertain: Sequence[UncertainTest], models: ModelsAtVersion
) -> FactTestStatus:
    broken: dict[TestKey, Outcome] = {}
    superseded: dict[TestKey, Outcome] = {}
    successors = Successors(edits, [test for test, _ in uncertain])
    for test, owner in uncertain:
        answer = models[test.record.model].recall([test.question]).get(test.question)
        if answer is None and owner is not None:
            answer = Answer(edits.all_edits[owner].answer, (owner,))
        if answer is not None and test.holds(answer):
            continue
        successor = successors.of(test, answer)
        if successor is not None:
            actual = successor.answer if answer is None else answer.text
            follows = successors.is_on_purpose(test.record, successor)
            source = {"by": successor.id, "by_version": version_of(successor), "follows": follows}
            superseded[test.key] = test.report(actual).model_copy(update=source)
        elif answer is not None:
            broken[test.key] = test.report(answer.text)
    return FactTestStatus(len(edits), broken, superseded)


def is_value(triple: Triple) -> bool:
    """Return whether an edit gave a value, and neither took one away nor changed a name."""
    return triple.act != "remove" and not triple.relation.startswith("@")


def describe_fact(fact: ReplacedFact) -> Outcome:
    """Return a replaced fact as a superseded test. One that an import replaced was not meant to be."""
    edit, triple, note = fact.edit, fact.triple, read_note(fact.edit)
    names = (note.subject, note.relation) if isinstance(note, FactNote) else (triple.subject, triple.relation)
    return Outcome(
        edit=edit.id,
        version=version_of(edit),
        question=edit.question or " · ".join(names),
        before=triple.object,
        after=one_line([value.text for value in fact.values]) or None,
        by=fact.by.id,
        by_version=version_of(fact.by),
        follows=isinstance(read_note(fact.by), FactNote),
    )


def count_facts(edits: ActiveRecords) -> int:
    """Count the facts of active edits that have no question."""
    return sum(
        edit.triple is not None and not edit.question and is_value(edit.triple) for edit in edits.in_order
    )
