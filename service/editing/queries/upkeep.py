"""How edits fare: whether their tests hold, how often they answer, and when a person looks at them again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from errata.wire import CheckReport, EditDetail, EditState, HitList, Hits, Outcome, ReviewList

from service.curation.hits import HitCounts
from service.curation.reviews import Review, Reviews, check_day, find_today
from service.editing.draft import EditorState
from service.editing.evaluation.fact_tests import run_tests
from service.editing.evaluation.lineage import find_replaced_facts, find_successors
from service.editing.evaluation.side_effects import find_unmeant
from service.editing.figures import publish
from service.editing.models import Models
from service.editing.notes import read_note
from service.editing.operations import GetChecks, ListHits, ListReviews, PutReview, RunChecks
from service.editing.queries.history import describe_edit
from service.errors import LedgerUnavailable, NotFound, NothingToDo
from service.metrics import metrics

if TYPE_CHECKING:
    from service.editing.editor import Editor

D = TypeVar("D", bound=EditDetail)

COUNT_EVERY_S = 60.0  # pause between two counts of the edits whose day has come


@ListReviews.handler
async def list_reviews(editor: Editor, call: ListReviews) -> ReviewList:
    state, upkeep = await editor.pipeline.at_hand(), editor.upkeep
    today, reviews = (
        find_today(),
        await _select_current(state, await upkeep.reviews.list_until(), editor.models),
    )
    n_due = sum(review.on <= today for review in reviews)
    metrics.EDITS_DUE.set(n_due)
    first = reviews[: min(n_due, call.limit) if call.due else call.limit]
    heads = [describe_edit(state, review.edit) for review in first]
    return ReviewList(edits=await upkeep.note_details(heads), due=n_due, total=len(reviews))


@ListHits.handler
async def list_hits(editor: Editor, call: ListHits) -> HitList:
    state = await editor.pipeline.at_hand()
    ids = await editor.upkeep.hits.list_top(call.limit, state.active)
    return HitList(edits=await editor.upkeep.note_details([describe_edit(state, id) for id in ids]))


@PutReview.handler
async def put_review(editor: Editor, call: PutReview) -> EditDetail:
    detail = describe_edit(await editor.pipeline.at_hand(), call.id)
    check_day(call.on)
    if call.on is None:
        await editor.upkeep.reviews.remove(call.id)
    elif not detail.edit.active:
        raise NothingToDo(f"edit {call.id} is taken back: there is nothing to look at again")
    else:
        await editor.upkeep.reviews.put([Review(edit=call.id, on=call.on)])
    return (await editor.upkeep.note_details([detail]))[0]


@dataclass(frozen=True)
class EditMaintenance:
    hits: HitCounts
    reviews: Reviews

    async def note(self, edits: Sequence[EditState]) -> list[EditState]:
        """Return the edits with their hits and days; as they are while these cannot be read."""
        ids = [edit.id for edit in edits]
        try:
            hits, days = await self.hits.find(ids), await self.reviews.find(ids)
        except LedgerUnavailable:
            return list(edits)
        return [
            edit.model_copy(update={"hits": hits.get(edit.id, Hits(count=0)), "review": days.get(edit.id)})
            for edit in edits
        ]

    async def note_details(self, details: Sequence[D]) -> list[D]:
        edits = await self.note([detail.edit for detail in details])
        return [detail.model_copy(update={"edit": edit}) for detail, edit in zip(details, edits, strict=True)]

    async def watch(self, find_state: Callable[[], EditorState | None], models: Models) -> None:
        """Count again and again the active edits whose day has come."""
        while True:
            state = find_state()
            if state is not None:
                try:
                    due = await self.reviews.list_until(find_today())
                except LedgerUnavailable:
                    pass  # the count stays as it was
                else:
                    metrics.EDITS_DUE.set(len(await _select_current(state, due, models)))
            await asyncio.sleep(COUNT_EVERY_S)


async def _select_current(state: EditorState, reviews: Sequence[Review], models: Models) -> list[Review]:
    """Return the days of the edits that are active and have no successor."""
    active = [review for review in reviews if review.edit in state.active]
    successors = await find_successors([state.edits[review.edit] for review in active], state, models)
    return [review for review in active if review.edit not in successors]


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


async def _find_other_answers(editor: Editor, state: EditorState) -> tuple[list[Outcome], int]:
    """Return the questions of the pack that corrections wrongly answer, and the number of those not asked."""
    active = state.active_records.in_order
    memories = {edit.memory for edit in active if edit.question and read_note(edit) is None}
    edits = [edit for edit in active if edit.memory in memories]
    if not edits:
        return [], 0
    base = (await editor.builder.state_at(state, 0)).models
    effects = await editor.side_effects.measure(edits, base, state.models, (0, state.version))
    return find_unmeant(effects.changed, edits), effects.n_unmeasured
