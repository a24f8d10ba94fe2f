"""A call of an admin route as the audit has it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, BaseModel, Field

from service.access.caller import Method
from service.ledger.keys import PREFIX

CHANGES = PREFIX + "audit"
REFUSALS, READS, RESTORATION = CHANGES + ":refused", CHANGES + ":reads", CHANGES + ":restored"
READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
EXPORT = "/admin/export"  # route that copies everything, and is noted like a change
CLIENT_GONE = 499  # status of a request whose client left before its answer


class Call(BaseModel, frozen=True):
    """One call of an admin route.

    Attributes:
        request: Id of the request, as in the logs; of the last one, if several were merged.
        count: Number of calls like this one that were merged into the entry.
        first_at: Unix time in seconds of the first of several merged calls.
        last_at: Unix time in seconds of a call that was written later than it was made; of the last, if several.
    """

    name: str
    address: str
    method: str
    path: str
    by: Method | None = None
    summary: Annotated[str, Field(validation_alias=AliasChoices("summary", "what"))] = (
        ""  # its name was `what` until 2026-11-23
    )
    status: int
    code: str | None = None
    version: int | None = None
    request: str | None = None
    count: int = 1
    first_at: float | None = None
    last_at: float | None = None

    @property
    def stream(self) -> str:
        """The stream of the entry; calls that may have changed something have one that no other calls can fill."""
        is_refused = 400 <= self.status < 500 and self.status != CLIENT_GONE
        if self.by is None or is_refused:
            return REFUSALS
        return READS if self.method in READ_METHODS and self.path != EXPORT else CHANGES
