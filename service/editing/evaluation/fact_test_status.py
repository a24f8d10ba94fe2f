"""The status of the fact tests of all active edits at one version: holding, broken or superseded.

A wording that a system routes to an edit is not asked: the edit gives its answer. Other wordings are asked by
`run_tests`, and by a commit that may have changed their answers; in between, the cached answer counts. A test that
has not been asked yet is taken to hold, as it did when its edit was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from errata.wire import BrokenTest, CheckReport, EditCounts, SupersededTest

from service.editing.draft import one_line
from service.editing.evaluation.expectations import ask_all
from service.editing.evaluation.fact_tests import run_given_tests
from service.editing.evaluation.lineage import FactTest, ReplacedFact, Successors, TestKey, version_of
from service.editing.models import Answer, ModelsAtVersion
from service.editing.notes import FactNote, read_note
from service.ledger.commit import Triple
from service.ledger.fold import ActiveRecords

UncertainTest: TypeAlias = tuple[FactTest, str | None]
"""A test that its own edit does not certainly answer, and the edit that does; None where only asking tells."""


@dataclass(frozen=True)
class FactTestStatus:
    """The fact tests at one version. All that are not named hold."""

    edits: int  # number of active edits
    broken: Mapping[TestKey, BrokenTest]
    superseded: Mapping[TestKey, SupersededTest]

    @property
    def superseded_edits(self) -> Set[str]:
        """The edits whose question is superseded."""
        return {edit for edit, place in self.superseded if place == 0}

    def with_replaced(self, facts: Mapping[TestKey, SupersededTest]) -> FactTestStatus:
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
        overwritten=[test for test in status.superseded.values() if not test.on_purpose],
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
    broken: dict[TestKey, BrokenTest] = {}
    superseded: dict[TestKey, SupersededTest] = {}
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
            superseded[test.key] = SupersededTest(
                **test.report(actual).model_dump(),
                by=successor.id,
                by_version=version_of(successor),
                on_purpose=successors.is_on_purpose(test.record, successor),
            )
        elif answer is not None:
            broken[test.key] = test.report(answer.text)
    return FactTestStatus(len(edits), broken, superseded)


def is_value(triple: Triple) -> bool:
    """Return whether an edit gave a value, and neither took one away nor changed a name."""
    return triple.act != "remove" and not triple.relation.startswith("@")


def describe_fact(fact: ReplacedFact) -> SupersededTest:
    """Return a replaced fact as a superseded test. One that an import replaced was not meant to be."""
    edit, triple, note = fact.edit, fact.triple, read_note(fact.edit)
    names = (note.subject, note.relation) if isinstance(note, FactNote) else (triple.subject, triple.relation)
    return SupersededTest(
        edit=edit.id,
        version=version_of(edit),
        question=edit.question or " · ".join(names),
        expected=triple.object,
        actual=one_line([value.text for value in fact.values]) or None,
        by=fact.by.id,
        by_version=version_of(fact.by),
        on_purpose=isinstance(read_note(fact.by), FactNote),
    )


def count_facts(edits: ActiveRecords) -> int:
    """Count the facts of active edits that have no question."""
    return sum(
        edit.triple is not None and not edit.question and is_value(edit.triple) for edit in edits.in_order
    )
