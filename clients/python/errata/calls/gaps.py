"""Calls about the worklist of questions that no system answers."""

from __future__ import annotations

from errata import wire
from errata.request import Call, to_query

GAPS = "/admin/gaps"


class GapCalls:
    """The part of `Calls` about the worklist."""

    def gaps(self, *, limit: int = 50) -> Call[wire.GapPage]:
        """List questions that were declined, or answered beside a near edit, the most asked first."""
        return Call("GET", GAPS, wire.GapPage, query=to_query(limit=limit))

    def gap(self, line: int) -> Call[wire.Gap]:
        """Return one line of the worklist by its number."""
        return Call("GET", f"{GAPS}/{line:d}", wire.Gap)

    def drop_gap(self, line: int) -> Call[wire.Gap]:
        """Take a line out of the worklist. A question that is asked again gets a new line."""
        return Call("DELETE", f"{GAPS}/{line:d}", wire.Gap, reads=False)

    def check_gaps(self) -> Call[wire.GapCheck]:
        """Ask the 256 most asked lines again, and take out those that are answered now."""
        return Call("POST", "/admin/gap-checks", wire.GapCheck, reads=False, slow=True)
