"""The report of a commit: what has to be known before it, and what may be measured afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from errata.wire import EditReport, RefusedEdit, Report

from service.editing.draft import Build, Draft, EditorState
from service.editing.evaluation.default_route import add_default_route_answers, find_asked
from service.editing.evaluation.expectations import (
    DOES_NOT_HOLD,
    ask_all,
    ask_edits,
    describe,
    report_paraphrase,
    returns_expected,
)
from service.editing.evaluation.fact_tests import (
    FactTestStatus,
    current_status,
    status_after,
    try_given_tests,
)
from service.editing.evaluation.lineage import TestKey
from service.editing.evaluation.near import describe_near, find_near_questions, report_misspelt
from service.editing.evaluation.paraphrases import ParaphraseGenerator, measure_paraphrases, reword_edits
from service.editing.evaluation.side_effects import SideEffectProbe, find_unmeant
from service.editing.evaluation.slot_budget import SlotBudget
from service.editing.evaluation.switched_facts import report_switched
from service.editing.figures import Timings
from service.editing.models import Answers, ModelAtVersion, Models, ask_ahead, compare_ahead
from service.editing.notes import FactNote, is_for_graph_alone, read_note
from service.errors import JSON, MAX_NAMED, BreaksTests, EditRefused
from service.ledger.commit import EditRecord

NO_ANSWER = "the question does not get this answer: take the edit back, or word the question differently"
MAX_SWITCHED = 1_000  # edits that the report of a revert or rollback lists


@dataclass(frozen=True)
class Evaluator:
    models: Models
    side_effects: SideEffectProbe
    paraphrases: Mapping[str, ParaphraseGenerator]
    budget: SlotBudget

    async def evaluate(self, build: Build) -> Report:
        """Measure what a commit has to wait for: whether its edits hold, and which earlier ones do not any more."""
        edits = await report_misspelt(await _report_edits(build), build, self.models)
        edits = await report_switched(edits, build, self.models)
        tests, failing_tests = await _evaluate_tests(build)
        n_switched = 0 if build.draft.records else len(build.old_edits)
        return Report(
            edits=edits,
            probes=0,
            broken_tests=[test for key, test in tests.broken.items() if key in failing_tests],
            superseded_tests=[test for key, test in tests.superseded.items() if key in failing_tests],
            test_status=tests.counts(len(build.all_edits)),
            capacity=self.budget.describe(build.memories.values()),
            timings=Timings().to_wire(),
            edits_left_out=max(0, n_switched - MAX_SWITCHED),
            refused=list(build.draft.refused),
        )

    async def ask_ahead(self, drafts: Sequence[tuple[Build, Report]]) -> None:
        """Ask and compare in common passes what `complete` asks and compares of each of several commits, in order."""
        batches: list[tuple[ModelAtVersion, Sequence[str]]] = []
        versions: dict[str, list[ModelAtVersion]] = {}
        comparisons: list[tuple[str, Build, Sequence[str]]] = []
        for build, report in drafts:
            sides = before, after = build.state.models, build.models
            probes = await self.side_effects.find_probes(_edits_to_measure(build), before, after)
            for edit, questions in reword_edits(build.draft.records, self.paraphrases):
                batches.append((before[edit.model], questions))
                probes[edit.model] = [*probes.get(edit.model, ()), *questions]
            for name, batch in probes.items():
                versions.setdefault(name, [before[name]]).append(after[name])
                comparisons.append((name, build, batch))
            if len(after) > 1:
                questions = [edit.question for edit in find_asked(report.edits)]
                batches += [(model, questions) for side in sides for model in side.values()]
        await ask_ahead(batches)  # first, for a comparison reads no question again
        for name, chain in versions.items():
            await compare_ahead(chain, [q for other, _, batch in comparisons if other == name for q in batch])
        batches = []
        for name, build, batch in comparisons:
            old, new = build.state.models[name], build.models[name]
            differing = await new.differing_since(old, batch)
            await new.keep_routed(differing, {edit.id: edit for edit in build.draft.records})
            batches += [(old, differing), (new, differing)]
        await ask_ahead(batches)

    async def complete(self, build: Build, report: Report, version: int | None) -> Report:
        """Add what only a person reads: other wordings, side effects, near questions, and what visitors hear.

        Args:
            version: Version that the draft is; None for a dry run.
        """
        state, records, after = build.state, build.draft.records, build.models
        paraphrases = await measure_paraphrases(records, self.paraphrases, state.models, after)
        effects = await self.side_effects.measure(
            _edits_to_measure(build),
            state.models,
            after,
            (state.version, version),
            known_wordings=[wording.question for reports in paraphrases.values() for wording in reports],
        )
        near = await find_near_questions(records, effects.nearest, build, paraphrases)
        tests_of_edits = await try_given_tests(build) if version is None else {}
        edits = [
            edit.model_copy(
                update={
                    "tests": tests_of_edits.get(edit.id, []),
                    "generated_paraphrases": paraphrases.get(edit.id, []),
                    **describe_near(edit, near.get(edit.id, [])),
                }
            )
            for edit in report.edits
        ]
        update = {
            "edits": await add_default_route_answers(edits, state.models, after, build.all_edits),
            "probes": effects.n_compared,
            "unmeasured_probes": effects.n_unmeasured,
            "side_effects": effects.changed,
        }
        return report.model_copy(update=update)


def preview_report(
    state: EditorState, refused: Sequence[RefusedEdit], budget: SlotBudget, timings: Timings
) -> Report:
    """Return the report of a request that was not measured."""
    return Report(
        edits=[],
        probes=0,
        broken_tests=[],
        capacity=budget.describe(state.memories.values()),
        timings=timings.to_wire(),
        refused=list(refused),
    )


def check_expectations(draft: Draft, report: Report) -> None:
    """Check that the question of each new edit gets its answer.

    An edit that a revert brings back is not checked: a later one may have superseded it.
    """
    fresh = {record.id for record in draft.records if not is_for_graph_alone(read_note(record))}
    failing = [edit for edit in report.edits if edit.id in fresh and not edit.holds]
    if not failing:
        return
    first, suffix = failing[0], f" (and {len(failing) - 1:,} more would fail)" if len(failing) > 1 else ""
    detail = f"after this edit {first.question!r} would be answered {first.after!r}, not {first.answer!r}"
    is_fact = first.id in {record.id for record in draft.records if record.triple is not None}
    alternative = "keep it in the graph with `only`" if is_fact else "word the question differently"
    advice = f"nothing was changed; see the report of a dry run, or {alternative}"
    questions: list[JSON] = [edit.question for edit in failing[:MAX_NAMED]]
    refused: list[JSON] = [
        {
            "place": edit.place,
            "code": EditRefused.code,
            "reason": DOES_NOT_HOLD,
            "detail": f"{edit.question!r} would be answered {edit.after!r} and not {edit.answer!r}",
        }
        for edit in failing
    ]
    raise EditRefused(f"{detail}{suffix}: {advice}", reason=DOES_NOT_HOLD, failing=questions, refused=refused)


def check_tests(report: Report) -> None:
    """Check that the draft breaks no fact test of earlier edits."""
    overwritten = [test for test in report.superseded_tests if not test.follows]
    failing = [*report.broken_tests, *overwritten]
    if not failing:
        return
    first, suffix = failing[0], f" (and {len(failing) - 1:,} more would break)" if len(failing) > 1 else ""
    detail = f"version {first.version} made {first.question!r} be answered {first.before!r}"
    now = f"after this it would be {first.after!r}" if first.after else "after this nothing would be said"
    remedy = f"say that it replaces version {first.version}, " if overwritten else ""
    advice = (
        f"nothing was changed; {remedy}word this differently, take that one back first, or repeat it "
        "without strict"
    )
    tests: list[JSON] = [test.model_dump(mode="json") for test in failing[:MAX_NAMED]]
    raise BreaksTests(f"{detail}, and {now}{suffix}: {advice}", tests=tests)


def check_other_answers(draft: Draft, report: Report) -> None:
    """Check that corrections change no answer to a question that asks for something else."""
    effects = find_unmeant(report.side_effects, draft.records)
    if not effects:
        return
    first, suffix = effects[0], f" (and {len(effects) - 1:,} more would change)" if len(effects) > 1 else ""
    detail = f"{first.question!r} would be answered {first.after!r} and not {first.before!r}{suffix}"
    advice = (
        "nothing was changed; give it as a counterexample, as a paraphrase if it asks for the same, or repeat this "
        "without strict"
    )
    changed: list[JSON] = [effect.model_dump(mode="json") for effect in effects[:MAX_NAMED]]
    raise BreaksTests(f"{detail}: {advice}", tests=[], side_effects=changed)


def _edits_to_report(build: Build) -> Sequence[EditRecord]:
    return build.draft.records or build.old_edits[-MAX_SWITCHED:]


def _edits_to_measure(build: Build) -> list[EditRecord]:
    """Return the edits of a report, and those that they replaced."""
    edits, all_edits = _edits_to_report(build), build.state.edits
    earlier = (all_edits.get(id) for edit in edits for id in edit.notes.get("replaces", ()))
    return [*edits, *(edit for edit in earlier if edit is not None)]


async def _report_edits(build: Build) -> list[EditReport]:
    """Report each edit, in the order of the request, or for a revert or rollback in ledger order."""
    state, draft, records = build.state, build.draft, _edits_to_report(build)
    questions = [(edit.model, (*edit.wordings, *edit.counterexamples)) for edit in records]
    before = await ask_all(state.models, questions)
    after = await ask_edits(build.models, records, build.all_edits)
    against = [(edit.model, edit.counterexamples) for edit in records if edit.counterexamples]
    for model, answers in (await ask_all(build.models, against)).items():
        after[model] = {**after[model], **answers}
    deactivated_ids = set(draft.change.deactivates)
    reports = [_report_edit(e, e.id in deactivated_ids, before[e.model], after[e.model]) for e in records]
    for place, report in sorted(draft.no_ops.items()):
        reports.insert(place, report)
    return [
        report.model_copy(update={"place": draft.places.get(report.id, report.place)}) for report in reports
    ]


def _report_edit(edit: EditRecord, is_deactivated: bool, before: Answers, after: Answers) -> EditReport:
    """Report one edit; an edit that was taken back holds if it no longer answers."""

    def is_expected(question: str) -> bool:
        answer = after[question]
        return edit.id not in answer.edits if is_deactivated else returns_expected(edit, answer)

    paraphrases = [
        report_paraphrase(wording, before, after, is_expected(wording)) for wording in edit.paraphrases
    ]
    counterexamples = [
        report_paraphrase(text, before, after, edit.id in after[text].edits) for text in edit.counterexamples
    ]
    holds = is_expected(edit.question) if edit.question else True  # an edit of the graph is in the graph
    note = read_note(edit)
    values = (note.before if isinstance(note, FactNote) else None, edit.answer)
    unasked_before, unasked_after = values[::-1] if is_deactivated else values
    return EditReport(
        id=edit.id,
        **describe(edit),
        before=before[edit.question].text if edit.question else unasked_before,
        after=after[edit.question].text if edit.question else unasked_after,
        holds=holds,
        paraphrases=paraphrases,
        counterexamples=counterexamples,
        warnings=[]
        if is_deactivated
        else [*map(str, edit.notes.get("warnings", ())), *([] if holds else [NO_ANSWER])],
    )


async def _evaluate_tests(build: Build) -> tuple[FactTestStatus, Set[TestKey]]:
    """Return the fact tests of all active edits, and those of earlier edits that held before and fail now."""
    state, draft = build.state, build.draft
    status = await status_after(build.active_records, state.models, build.models, draft.switched_ids)
    failing = {key for key in (*status.broken, *status.superseded) if key[0] not in draft.switched_ids}
    if failing:
        before = await current_status(state.active_records, state.models)
        failing -= {*before.broken, *before.superseded}
    return status, failing
