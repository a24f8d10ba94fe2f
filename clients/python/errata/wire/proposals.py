"""Proposals: edits that are stored and not live, until the holder of another key approves them."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from errata.wire.base import CommitVersion, Day, Details, Message, Request, Response, Version
from errata.wire.edits import Item
from errata.wire.report import Report

MAX_PROPOSED = 200
FOUR_WEEKS_S = 28 * 86_400.0
ProposalState = Literal["open", "approved", "rejected", "expired"]


class ProposalRequest(Request):
    """Edits that are proposed together.

    Attributes:
        edits: Corrections, facts and definitions of relations, which become one commit.
        expires_in_s: Seconds after which they cannot be approved any more.
        review: A day on which a person looks at the edits again; it is the day of the approval if that is later.
    """

    edits: Annotated[list[Item], Field(min_length=1, max_length=MAX_PROPOSED)]
    message: Message = ""
    expires_in_s: Annotated[float, Field(ge=1, le=366 * 86_400)] = FOUR_WEEKS_S
    review: Day | None = None


class ApprovalRequest(Request):
    """Asks for the commit of a proposal; 409 `stale_version` if the ledger is not at the expected version any more."""

    expected_version: Version | None = None


class RejectionRequest(Request):
    """Why a proposal is not approved."""

    reason: Message = ""


class Proposal(Response):
    """A proposal.

    Attributes:
        number: Its number, which stays the same.
        state: "open", "approved", "rejected" or "expired".
        author: Name of the key that proposed it.
        edits: The edits as they were sent.
        expires: Time from which it is closed.
        review: The day on which a person looks at the edits again, as it was proposed.
        conflicts: Numbers of other open proposals about the same question, or the same relation of the same thing.
        decided_by: Name of the key that approved or rejected it.
        decision_time: Time of the approval or the rejection.
        version: The commit that an approval made.
        measured_at: The version at which `report` was measured.
        report: The report of a dry run; None in a list, and where the edits are refused.
        refusal: The problem document of the dry run where the edits are refused now.
    """

    number: int
    state: ProposalState
    author: str
    time: AwareDatetime
    message: str
    edits: list[Details]
    expires: AwareDatetime
    review: date | None = None
    conflicts: list[int] = Field(default_factory=list)
    decided_by: str | None = None
    decision_time: AwareDatetime | None = None
    reason: str = ""
    version: CommitVersion | None = None
    measured_at: Version | None = None
    report: Report | None = None
    refusal: Details | None = None


class ProposalList(Response):
    """Proposals.

    Attributes:
        proposals: The proposals, the newest first.
    """

    proposals: list[Proposal]
