"""The admin routes about proposals: edits that one key makes and another approves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from operator import itemgetter
from typing import Annotated, Any, Literal
from uuid import uuid4

from errata import wire
from errata.wire.texts import MAX_TEXT_CHARS
from fastapi import APIRouter, Path, Query, Request, Response
from more_itertools import map_reduce

from service.curation.proposals import (
    CUT_OFF_S,
    KEY_OWNER,
    MAX_LISTED,
    Decision,
    Entry,
    Proposals,
    name_key,
)
from service.editing.operations import Edit, ListVersions
from service.errors import ErrataError, Forbidden, LedgerUnavailable, ProposalClosed, StaleVersion
from service.http.auth import get_caller
from service.http.body import ASKING, json_body
from service.http.deployment_client import EditorClient
from service.http.middleware.audit import summarize
from service.http.openapi import document
from service.http.responses import respond
from service.outcome import CODE, VERSION, Outcome

NEEDS_ANOTHER = (
    "proposal {} is your own: another key approves it, or the service is started with --self-approval"
)
TRIALS = 10  # dry runs of one proposal, while others make a commit before each
LOOK_EVERY_S = 0.1  # pause between two looks at the approval of another

State = Annotated[Literal["open", "all"], Query(description="Only open ones, or all.")]
Number = Annotated[int, Path(ge=1, le=10**12 - 1, description="The number of the proposal.")]
ProposalBody = Annotated[wire.ProposalRequest, json_body(wire.ProposalRequest, ASKING)]
ApprovalBody = Annotated[wire.ApprovalRequest, json_body(wire.ApprovalRequest)]
RejectionBody = Annotated[wire.RejectionRequest, json_body(wire.RejectionRequest)]


def build_router(store: Proposals, editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["proposals"])

    @router.get("/admin/proposals", **document(wire.ProposalList))
    async def list_proposals(state: State = "open") -> wire.ProposalList:
        """List proposals, the newest first."""
        is_all, now = state == "all", store.clock()
        entries, left_out = await store.list_newest(MAX_LISTED if is_all else 0)
        rivals = _find_rivals(entries, now)
        items = [_to_wire(item, rivals, now) for item in entries if is_all or item.is_open(now)]
        return wire.ProposalList(proposals=items, left_out=left_out if is_all else 0)

    @router.get("/admin/proposals/{number}", **document(wire.Proposal, 404))
    async def get_proposal(number: Number) -> wire.Proposal:
        """Return a proposal. The report of an open one is measured now, on the newest version."""
        item, now = await store.get(number), store.clock()
        if not item.is_open(now):
            return _to_wire(item, {}, now)
        rivals = _find_rivals((await store.list_newest())[0], now)
        return _to_wire(item, rivals, now, **await _measure(editor, item))

    return router


def build_propose_router(store: Proposals, editor: EditorClient) -> APIRouter:
    router = APIRouter(tags=["proposals"])

    @router.post("/admin/proposals", **document(wire.Proposal, 404, 409, status=201))
    async def propose(body: ProposalBody, request: Request, response: Response) -> Any:
        """Store edits that another key may approve. They are measured by a dry run first, and refused as it is."""
        summarize(request, f"{len(body.edits):,} edits proposed")
        author, edits = get_caller(request).name, body.model_dump(mode="json", exclude_unset=True)["edits"]
        outcome, head = await _try(editor, author, _order(edits, body.message, body.review, dry_run=True))
        if outcome.status >= 400:
            return respond(outcome)
        row = await store.add(author, body.message, edits, body.expires_in_s, body.review)
        response.status_code, report = 201, json.loads(outcome.body)["report"]
        rivals = _find_rivals((await store.list_newest())[0], row.time)
        item = Entry(row=row, decision=None)
        return _to_wire(item, rivals, row.time, report=report, measured_at=head)

    return router


def build_decision_router(store: Proposals, editor: EditorClient, self_approval: bool) -> APIRouter:
    """Build the routes that approve and reject. `self_approval`: whether the author of a proposal may approve it."""
    router = APIRouter(tags=["proposals"])

    @router.post("/admin/proposals/{number}/approval", **document(wire.Proposal, 404, 409))
    async def approve(number: Number, body: ApprovalBody, request: Request, response: Response) -> Any:
        """Make the commit of a proposal. Its author may not, unless the service allows it.

        409 `proposal_closed`: another key was faster, and has approved it or rejected it.
        """
        item, caller = await store.get(number), get_caller(request).name
        summarize(request, f"proposal {number} by {item.row.author}")
        if item.row.author == caller and not self_approval:
            raise Forbidden(NEEDS_ANOTHER.format(number))
        decision = Decision(kind="approved", by=caller, time=store.clock())
        holding = await _claim(store, item, decision)
        if holding.is_claim:
            outcome = await _commit(editor, item, holding, body)
            approval = await _settle(store, item, holding, outcome)
            if approval is None:
                return respond(outcome)
            holding = approval
        if holding.by != caller or holding.kind == "rejected":
            raise _refuse_closed(number, holding)
        response.headers[VERSION] = str(holding.version)
        return _to_wire(Entry(row=item.row, decision=holding), {}, store.clock())

    @router.post("/admin/proposals/{number}/rejection", **document(wire.Proposal, 404, 409))
    async def reject(number: Number, body: RejectionBody, request: Request) -> wire.Proposal:
        """Decide that a proposal will not be made, with a reason for its author."""
        item = await store.get(number)
        summarize(request, f"proposal {number} by {item.row.author}: {body.reason}")
        caller = get_caller(request).name
        decision = Decision(kind="rejected", by=caller, time=store.clock(), reason=body.reason)
        holding = await _claim(store, item, decision)
        if holding.is_claim or holding == decision:
            # The ledger may have a commit, or make it yet, although nobody waits for it
            holding = await store.close(item.row, holding) or await store.claim(item, decision, holding)
        if holding != decision:
            raise _refuse_closed(number, holding)
        return _to_wire(Entry(row=item.row, decision=holding), {}, store.clock())

    return router


def describe(item: Entry) -> str:
    """Return the message of the commit of a proposal, which names its author."""
    text = f"{item.row.message}\n\n" if item.row.message else ""
    origin = item.row.origin
    return f"{text[: MAX_TEXT_CHARS - len(origin)]}{origin}"


async def _claim(store: Proposals, item: Entry, decision: Decision) -> Decision:
    """Make this the decision unless there is one, and return the one that holds.

    While the commit of another approval is being made, this waits: it may be refused, which leaves the proposal open.
    One that is not made in time was cut off.
    """
    if item.decision is None and not item.is_open(store.clock()):
        detail = f"proposal {item.row.number} has expired: propose it again"
        raise ProposalClosed(detail, state="expired")
    holding = await store.claim(item, decision)
    while (
        holding.is_claim
        and (holding.kind, holding.by) != (decision.kind, decision.by)
        and store.clock() - holding.time <= CUT_OFF_S
    ):
        await asyncio.sleep(LOOK_EVERY_S)
        holding = await store.claim(item, decision)
    return holding


async def _commit(
    editor: EditorClient, item: Entry, decision: Decision, request: wire.ApprovalRequest
) -> Outcome:
    """Make the commit of an approval; its key is the proposal's, so another approver makes no second one."""
    day = item.row.review and max(item.row.review, decision.day)
    order = _order(item.row.edits, describe(item), day).model_copy(update=dict(request))
    try:
        return await editor.call(Edit(order, decision.by, name_key(item.row.number), key_owner=KEY_OWNER))
    except ErrataError as error:
        return Outcome.of(error, None)


async def _settle(store: Proposals, item: Entry, claim: Decision, outcome: Outcome) -> Decision | None:
    """Return the approval if the ledger has its commit, whatever the outcome was.

    Otherwise give the claim back, unless the commit may still be made: the next reader finds out.
    """
    try:
        approval = await store.settle(item.row, claim)
        if approval is None and (outcome.status < 500 or "in_doubt" not in json.loads(outcome.body)):
            await store.put(item.row, None, claim.model_dump_json())
        return approval
    except LedgerUnavailable:
        if outcome.status < 400:
            raise
    return None


def _refuse_closed(number: int, decision: Decision) -> ProposalClosed:
    detail = f"proposal {number} is {decision.kind} by {decision.by} already"
    if decision.version is not None:
        detail += f": version {decision.version}"
    return ProposalClosed(detail, state=decision.kind, by=decision.by, version=decision.version)


def _order(
    edits: Sequence[dict[str, Any]], message: str, review: date | None = None, dry_run: bool = False
) -> wire.EditRequest:
    fields = {"edits": edits, "message": message, "review": review, "dry_run": dry_run}
    return wire.EditRequest.model_validate(fields)


async def _measure(editor: EditorClient, item: Entry) -> dict[str, Any]:
    """Return the report of a dry run on the newest version, or why the edits are refused there."""
    outcome, head = await _try(editor, item.row.author, _order(item.row.edits, "", dry_run=True))
    body = json.loads(outcome.body)
    if outcome.status >= 500:
        return {}
    return {"measured_at": head} | (
        {"refusal": body} if outcome.status >= 400 else {"report": body["report"]}
    )


async def _try(editor: EditorClient, author: str, order: wire.EditRequest) -> tuple[Outcome, int]:
    """Return the outcome of a dry run, and the version that it was measured on."""
    for _ in range(TRIALS):
        log = await editor.call(ListVersions(limit=1))
        if log.status >= 400:
            return log, 0
        head: int = json.loads(log.body)["head"]
        trial = Edit(order.model_copy(update={"expected_version": head}), author, f"trial-{uuid4().hex}")
        outcome = await editor.call(trial)
        if outcome.headers.get(CODE) != StaleVersion.code:
            break
    return outcome, head


def _find_rivals(entries: Sequence[Entry], now: float) -> Mapping[str, list[int]]:
    """Map each subject of an open proposal to the numbers of those that are about it."""
    open_rows = [item.row for item in entries if item.is_open(now)]
    pairs = ((subject, row.number) for row in open_rows for subject in row.subjects)
    return map_reduce(pairs, itemgetter(0), itemgetter(1))


def _to_wire(item: Entry, rivals: Mapping[str, Sequence[int]], now: float, **measures: Any) -> wire.Proposal:
    row, decision = item.row, item.decision
    is_open = item.is_open(now)
    conflicts = {number for subject in row.subjects if is_open for number in rivals.get(subject, ())}
    if decision is not None and not is_open:
        time = datetime.fromtimestamp(decision.time, UTC)
        measures |= {"decided_by": decision.by, "decision_time": time}
        measures |= {"reason": decision.reason, "version": decision.version}
    return wire.Proposal(
        number=row.number,
        state="open" if is_open else decision.kind if decision else "expired",
        author=row.author,
        time=datetime.fromtimestamp(row.time, UTC),
        message=row.message,
        edits=row.edits,
        expires=datetime.fromtimestamp(row.expires, UTC),
        review=row.review,
        conflicts=sorted(conflicts - {row.number}, reverse=True),
        **measures,
    )
