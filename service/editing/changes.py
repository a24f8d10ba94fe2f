"""The calls that change something: edits, what takes them back, imports, and tags."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from errata.wire import ImportProgress, RollbackRequest, Tag, TagList, Wait

from models.documents.memory import DOCUMENTS
from service.curation.reviews import check_day
from service.editing import operations as calls
from service.editing.evaluation.report import preview_report
from service.editing.figures import CANCELLED, REPETITION, Timings, publish
from service.editing.operations import ImportId
from service.editing.pipeline import Result, WriteOptions
from service.editing.plans.edit import EditPlan
from service.editing.plans.undo import UndoPlan
from service.editing.queries.documents import refuse_documents
from service.editing.replication import receipt
from service.errors import ErrataError, Internal, LedgerUnavailable
from service.ledger import tags
from service.metrics import metrics
from service.outcome import Outcome

if TYPE_CHECKING:
    from service.editing.editor import Editor

LINK_S = 60.0  # seconds that replicas have at least to link the names of an import


@calls.Edit.handler
async def edit(editor: Editor, call: calls.Edit) -> Outcome:
    edits, author, key = call.request, call.author, call.key
    if call.of_document and DOCUMENTS not in editor.models.memories:
        raise refuse_documents(editor.models)
    if edits.measure:
        options = WriteOptions(
            author, edits.expected_version, edits.dry_run, edits.strict, key, edits.review, call.key_owner
        )

        async def make(timings: Timings) -> Result:
            plan = await asyncio.to_thread(EditPlan, edits, editor.models)  # a refusal here is counted, too
            return await editor.pipeline.write(plan, options, timings)

        return await write(editor, "edit", make, edits.wait, edits.wait_report)
    # The refusals, or the result of an earlier request with this key: no writer has to wait for them.
    timings, plan = Timings(), await asyncio.to_thread(EditPlan, edits, editor.models)
    state = await editor.pipeline.newest()
    result = await editor.pipeline.first_result(plan, author, key) if key else None
    if result is None:
        check_day(edits.review)
        with timings.part("editor"):
            refused = await plan.preview(state, editor.builder, editor.budget)
        result = Result(None, preview_report(state, refused, editor.budget, timings).model_dump(mode="json"))
    patience = editor.patience if edits.wait == "all" else None
    return await receipt(editor.ledger, result, "edit", timings, patience, editor.later.find)


@calls.Undo.handler
async def undo(editor: Editor, call: calls.Undo) -> Outcome:
    request = call.request
    options = WriteOptions(
        call.author, dry_run=request.dry_run, strict=request.strict, idempotency_key=call.key
    )
    make = partial(editor.pipeline.write, UndoPlan(request), options)
    kind = "rollback" if isinstance(request, RollbackRequest) else "revert"
    return await write(editor, kind, make, request.wait, request.wait_report)


@calls.BeginImport.handler
async def begin_import(editor: Editor, call: calls.BeginImport) -> ImportId:
    return ImportId(id=(await editor.importer.begin(call.order, call.author, call.key)).id)


@calls.FeedImport.handler
async def feed_import(editor: Editor, call: calls.FeedImport) -> ImportProgress:
    return await editor.importer.feed(call.id, call.data)


@calls.GetImport.handler
async def get_import(editor: Editor, call: calls.GetImport) -> ImportProgress:
    return editor.importer.progress(call.id)


@calls.FinishImport.handler
async def finish_import(editor: Editor, call: calls.FinishImport) -> Outcome:
    make = partial(editor.importer.finish, call.id)
    return await write(editor, "import", make, call.wait, call.wait_report, LINK_S)


@calls.AbandonImport.handler
async def abandon_import(editor: Editor, call: calls.AbandonImport) -> ImportId:
    await editor.importer.abandon(call.id)
    return ImportId(id=call.id)


async def write(
    editor: Editor,
    kind: str,
    make: Callable[[Timings], Awaitable[Result]],
    wait: Wait,
    wait_report: bool = False,
    least_s: float = 0.0,
) -> Outcome:
    """Make a write, count and publish it, and wait for the replicas.

    Args:
        least_s: The shortest limit of the wait for replicas, in seconds.
    """
    timings, outcome = Timings(), Internal.code
    try:
        result = await make(timings)
        outcome = "dry_run" if result.commit is None else REPETITION if result.is_repeated else "committed"
    except ErrataError as error:
        outcome = error.code
        if isinstance(error, LedgerUnavailable):
            metrics.REDIS_FAILURES.labels("editor").inc()
        raise
    except asyncio.CancelledError:
        outcome = CANCELLED
        raise
    finally:
        metrics.EDITS.labels(kind, outcome).inc()
    if result.commit is not None and not result.is_repeated:
        metrics.count_commit(result.commit.author)
    state = editor.pipeline.state
    if result.commit is not None and state is not None:
        metrics.LEDGER_VERSION.labels("errata").set(state.version)
        publish(state, result.commit.version, result.report.get("test_status"), editor.budget)
    patience = replace(editor.patience, limit_s=max(editor.patience.limit_s, least_s))
    name = "edit" if kind == "import" else kind
    find_report = partial(editor.later.find, wait=wait_report)
    return await receipt(
        editor.ledger, result, name, timings, patience if wait == "all" else None, find_report
    )


@calls.ListTags.handler
async def list_tags(editor: Editor, call: calls.ListTags) -> TagList:
    return TagList(tags=[_tag_to_wire(tag) for tag in await editor.tags.all()])


@calls.PutTag.handler
async def put_tag(editor: Editor, call: calls.PutTag) -> Tag:
    version = (await editor.pipeline.at_hand()).find_version(call.version)
    tag = tags.Tag(name=call.name, version=version, by=call.author, time=time.time())
    await editor.tags.put(tag)
    return _tag_to_wire(tag)


@calls.DeleteTag.handler
async def delete_tag(editor: Editor, call: calls.DeleteTag) -> Tag:
    return _tag_to_wire(await editor.tags.remove(call.tag))


def _tag_to_wire(tag: tags.Tag) -> Tag:
    return Tag.model_validate(tag.model_dump())
