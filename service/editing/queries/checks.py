"""The fact tests: run now, or as they were run last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from errata.wire import CheckReport, SideEffect

from service.editing.draft import EditorState
from service.editing.evaluation.fact_test_status import run_tests
from service.editing.evaluation.lineage import find_replaced_facts
from service.editing.evaluation.side_effects import find_unmeant
from service.editing.figures import publish
from service.editing.notes import read_note
from service.editing.operations import GetChecks, RunChecks
from service.errors import NotFound

if TYPE_CHECKING:
    from service.editing.editor import Editor


@RunChecks.handler
async def run_checks(editor: Editor, call: RunChecks) -> CheckReport:
    async with editor.check_lock:  # a second run finds most answers cached
        state = await editor.pipeline.at_hand()
        edits, facts = (
            state.active_records,
            await find_replaced_facts(state.active_records.in_order, state, editor.models),
        )
        report = await run_tests(state.version, edits, state.models, facts)
        other_answers, n_unmeasured = await _find_other_answers(editor, state)
        update = {
            "damaged_imports": await editor.importer.find_damage(state),
            "other_answers": other_answers,
            "unmeasured_probes": n_unmeasured,
        }
        editor.last_check = report.model_copy(update=update)
        counts = report.edits.model_dump() if report.edits else None
        publish(editor.pipeline.state, state.version, counts, editor.budget)
    return _select(editor.last_check, call.superseded)


@GetChecks.handler
async def get_checks(editor: Editor, call: GetChecks) -> CheckReport:
    if editor.last_check is None:
        raise NotFound("the fact tests have not been run since the start: run them with POST /admin/checks")
    return _select(editor.last_check, call.superseded)


def _select(report: CheckReport, superseded: bool) -> CheckReport:
    return report if superseded else report.model_copy(update={"superseded_tests": None})


async def _find_other_answers(editor: Editor, state: EditorState) -> tuple[list[SideEffect], int]:
    """Return the questions of the pack that corrections wrongly answer, and the number of those not asked."""
    active = state.active_records.in_order
    memories = {edit.memory for edit in active if edit.question and read_note(edit) is None}
    edits = [edit for edit in active if edit.memory in memories]
    if not edits:
        return [], 0
    base = await editor.builder.at(state, 0)
    effects = await editor.side_effects.measure(edits, base, state.models, (0, state.version))
    return find_unmeant(effects.changed, edits), effects.n_unmeasured
