"""Calls about proposals, which one key makes and another approves."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Literal

from errata import wire
from errata.request import Call, build, to_query
from errata.wire.proposals import FOUR_WEEKS_S

PROPOSALS = "/admin/proposals"


class ProposalCalls:
    """The part of `Calls` about proposals."""

    def propose(
        self,
        edits: Iterable[wire.Item],
        *,
        message: str = "",
        expires_in_s: float = FOUR_WEEKS_S,
        review: date | None = None,
    ) -> Call[wire.Proposal]:
        """Store edits that another key may approve; it needs the scope propose."""
        body = build(
            wire.ProposalRequest,
            edits=list(edits),
            message=message,
            expires_in_s=expires_in_s,
            review=review,
        )
        return Call("POST", PROPOSALS, wire.Proposal, body, reads=False, slow=True)

    def proposals(self, state: Literal["open", "all"] = "open") -> Call[wire.ProposalList]:
        """List proposals, the newest first."""
        return Call("GET", PROPOSALS, wire.ProposalList, query=to_query(state=state))

    def proposal(self, number: int) -> Call[wire.Proposal]:
        """Return a proposal; the report of an open one is measured now, on the newest version."""
        return Call("GET", f"{PROPOSALS}/{number:d}", wire.Proposal, slow=True)

    def approve(self, number: int, *, expected_version: int | None = None) -> Call[wire.Proposal]:
        """Make the commit of a proposal; StaleVersion if the ledger has moved on from the expected version."""
        body = build(wire.ApprovalRequest, expected_version=expected_version)
        return Call("POST", f"{PROPOSALS}/{number:d}/approval", wire.Proposal, body, reads=False, slow=True)

    def reject(self, number: int, reason: str = "") -> Call[wire.Proposal]:
        """Decide that a proposal will not be made, with a reason for its author."""
        body = build(wire.RejectionRequest, reason=reason)
        return Call("POST", f"{PROPOSALS}/{number:d}/rejection", wire.Proposal, body, reads=False)
