"""The worklist of curators: GET /admin/gaps, one line of it, and asking its lines again; and edits to look at again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

from errata.wire import MAX_BATCH, AnswerRequest, EditDetail, Gap, GapCheck, GapPage, ReviewRequest
from fastapi import APIRouter, Path, Query, Request, Response

from service.curation.gap_groups import group_by_fact, group_by_thing
from service.curation.gaps import MAX_LINES, Worklist
from service.editing.operations import PutReview
from service.errors import ErrataError, NotFound
from service.http.auth import RequestAccount
from service.http.auto import AutoRouter
from service.http.body import json_body
from service.http.deployment_client import EditorClient
from service.http.middleware.audit import summarize
from service.http.openapi import document
from service.http.responses import respond

KEEPS_NONE = "this service keeps no questions: start it with --gaps-days 7 to keep each for seven days"

Limit = Annotated[int, Query(ge=1, le=MAX_LINES)]
EditId = Annotated[str, Path(max_length=64, description="The id of an edit.")]
ReviewBody = Annotated[ReviewRequest, json_body(ReviewRequest)]
Line = Annotated[int, Path(ge=1, le=10**12 - 1, description="The number of the line.")]


def build_router(worklist: Worklist | None, days: float) -> APIRouter:
    """Build the routes that read the worklist; None is for a service that keeps no questions."""
    router = APIRouter(tags=["history"])

    @router.get("/admin/gaps", **document(GapPage))
    async def list_gaps(limit: Limit = 50) -> GapPage:
        """List questions that were declined, or answered beside a near edit, the most asked first. It also groups
        the questions that miss one fact, and the questions about one thing.
        """
        gaps, total = ([], 0) if worklist is None else await worklist.read(limit)
        every_gap = gaps if worklist is None or total <= limit else (await worklist.read(MAX_LINES))[0]
        return GapPage(
            gaps=gaps,
            total=total,
            days=days,
            facts=group_by_fact(every_gap)[:limit],
            things=group_by_thing(every_gap)[:limit],
        )

    @router.get("/admin/gaps/{line}", **document(Gap, 404))
    async def get_gap(line: Line) -> Gap:
        """Return one line."""
        return await _open(worklist).get(line)

    return router


def build_edit_router(worklist: Worklist | None, models: AutoRouter, editor: EditorClient) -> APIRouter:
    """Build the routes that take lines out of the worklist, and set the day of a review.

    Args:
        models: Answers without counting the questions as gaps once more.
    """
    router = APIRouter(tags=["history"])

    @router.put("/admin/edits/{id}/review", **document(EditDetail, 404, 409))
    async def put_review(id: EditId, body: ReviewBody, request: Request) -> Response:
        """Set the day on which a person looks at an edit again, or take it away."""
        summarize(request, f"edit {id} is looked at again {'on no day' if body.on is None else body.on}")
        return respond(await editor.call(PutReview(id, body.on)))

    @router.delete("/admin/gaps/{line}", **document(Gap, 404))
    async def delete_gap(line: Line) -> Gap:
        """Take a line out: it is answered, or not worth an answer. A question that is asked again gets a new line."""
        return await _open(worklist).remove(line)

    @router.post("/admin/gap-checks", **document(GapCheck, 404))
    async def check_gaps(request: Request, account: RequestAccount) -> GapCheck:
        """Ask the most asked lines again, up to 256, and take out those that are answered now."""
        gaps, _ = await _open(worklist).read(MAX_BATCH)
        closed_gaps = await _find_answered(models, account, gaps)
        for gap in closed_gaps:
            with suppress(NotFound):  # another curator has taken it out meanwhile
                await _open(worklist).remove(gap.line)
        summarize(request, f"{len(closed_gaps)} of {len(gaps)} questions are answered now")
        return GapCheck(count=len(gaps), gaps=closed_gaps)

    return router


async def _find_answered(models: AutoRouter, account: RequestAccount, gaps: Sequence[Gap]) -> list[Gap]:
    """Return the lines whose questions are answered surely; one whose model is gone is not."""
    questions, prepared_gaps = [], []
    for gap in gaps:
        request = AnswerRequest(question=gap.question, model=gap.model)
        try:
            questions.append(await models.prepare(request, account))
        except ErrataError:
            continue
        prepared_gaps.append(gap)
    await account.charge(sum(question.work for question in questions))
    outcomes = await models.answer_many(questions)
    return [
        gap
        for gap, outcome in zip(prepared_gaps, outcomes, strict=True)
        if outcome.status == 200 and not outcome.declined and not outcome.is_near
    ]


def _open(worklist: Worklist | None) -> Worklist:
    if worklist is None:
        raise NotFound(KEEPS_NONE)
    return worklist
