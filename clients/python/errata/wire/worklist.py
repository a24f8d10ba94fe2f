"""What waits for a person: questions that were not answered well, edits to look at again, and proposals."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from errata.wire.base import Request, Response
from errata.wire.edits import Item
from errata.wire.history import EditDetail
from errata.wire.report import Report
from errata.wire.texts import FOUR_WEEKS_S, CommitVersion, Day, Details, Message, Version

MAX_PROPOSED = 200
ProposalState = Literal["open", "approved", "rejected", "expired"]


class Gap(Response):
    """A line of the worklist."""

    line: int
    """The number of the line, which stays the same while the line exists."""
    question: str
    model: str
    """The model that was asked, "auto" for all."""
    kind: Literal["declined", "uncovered", "near"]
    """"declined"; "uncovered" if facts of its thing are known, and none covers the question; "near" for an
    answer without the edit that the question is near to."""
    count: int
    """Number of times that it was asked."""
    last: datetime
    """Time at which it was asked last."""
    thing: str = ""
    """Name of the thing of which facts are known, as the question has it."""


class GapGroup(Response):
    """Lines that have a missing fact, or a thing, in common."""

    name: str
    """The question with "…" for the thing, or the name of the thing."""
    members: list[str]
    """The things, or the questions with "…" for the thing, the most asked first, the first of very many."""
    n_members: int
    """Number of all members."""
    count: int
    """Number of times that the questions were asked."""
    lines: list[int]
    """Numbers of the lines, the first of very many."""


class GapPage(Response):
    """Lines of the worklist."""

    gaps: list[Gap]
    """The lines, the most asked first."""
    total: int
    """Number of lines."""
    days: float
    """Days for which a line is kept after its question was asked last; 0 where the service keeps none."""
    facts: list[GapGroup] = Field(default_factory=list)
    """Missing facts of things of which others are known, the most asked first."""
    things: list[GapGroup] = Field(default_factory=list)
    """These things, the most asked first."""


class GapCheck(Response):
    """The result of asking lines again."""

    count: int
    """Number of lines that were asked again."""
    gaps: list[Gap]
    """Lines that are answered now, and are taken out."""


class ReviewRequest(Request):
    """The day on which a person looks at an edit again."""

    on: Day | None
    """The day; None for no day."""


class ReviewList(Response):
    """Active edits with the days on which they are looked at again, the earliest first."""

    edits: list[EditDetail]
    """The edits, as many as were asked for."""
    due: int
    """Number of edits whose day has come."""
    total: int
    """Number of edits with a day."""


class HitList(Response):
    """The active edits that have answered users."""

    edits: list[EditDetail]
    """The edits, the most used first."""


class ProposalRequest(Request):
    """Edits that are proposed together."""

    edits: Annotated[list[Item], Field(min_length=1, max_length=MAX_PROPOSED)]
    """Corrections, facts and definitions of relations, which become one commit."""
    message: Message = ""
    expires_in_s: Annotated[float, Field(ge=1, le=366 * 86_400)] = FOUR_WEEKS_S
    """Seconds after which they cannot be approved any more."""
    review: Day | None = None
    """A day on which a person looks at the edits again; it is the day of the approval if that is later."""


class ApprovalRequest(Request):
    """Asks for the commit of a proposal; 409 `stale_version` if the ledger is not at the expected version any more."""

    expected_version: Version | None = None


class RejectionRequest(Request):
    """Why a proposal is not approved."""

    reason: Message = ""


class Proposal(Response):
    """A proposal."""

    number: int
    """Its number, which stays the same."""
    state: ProposalState
    """"open", "approved", "rejected" or "expired"."""
    author: str
    """Name of the key that proposed it."""
    time: AwareDatetime
    message: str
    edits: list[Details]
    """The edits as they were sent."""
    expires: AwareDatetime
    """Time from which it is closed."""
    review: date | None = None
    """The day on which a person looks at the edits again, as it was proposed."""
    conflicts: list[int] = Field(default_factory=list)
    """Numbers of other open proposals about the same question, or the same relation of the same thing."""
    decided_by: str | None = None
    """Name of the key that approved or rejected it."""
    decision_time: AwareDatetime | None = None
    """Time of the approval or the rejection."""
    reason: str = ""
    version: CommitVersion | None = None
    """The commit that an approval made."""
    measured_at: Version | None = None
    """The version at which `report` was measured."""
    report: Report | None = None
    """The report of a dry run; None in a list, and where the edits are refused."""
    refusal: Details | None = None
    """The problem document of the dry run where the edits are refused now."""


class ProposalList(Response):
    """Proposals."""

    proposals: list[Proposal]
    """The proposals, the newest first."""
    left_out: int = 0
    """Number of decided or expired proposals that are left out of the list: those that ended first."""
