"""One call of an admin route, and in which stream of the audit it stands."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from service.access.caller import Method
from service.ledger.keys import PREFIX

CHANGES = PREFIX + "audit"
REFUSALS, READS, RESTORATION = CHANGES + ":refused", CHANGES + ":reads", CHANGES + ":restored"
READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
EXPORT = "/admin/export"  # takes everything away, and is noted like a change
CLIENT_GONE = 499


class Call(BaseModel):
    """One call of an admin route.

    Attributes:
        name: Of the caller; "" for one who is not known.
        summary: The request in a few words.
        code: Of a problem.
        version: Of a commit.
        request: The request's id, as in the logs; of the last one where there are several.
        count: Of calls like this one, where several were merged into one entry.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    address: str
    method: str
    path: str
    by: Method | None = None
    summary: Annotated[str, Field(validation_alias=AliasChoices("summary", "what"))] = (
        ""  # `what` until 2026-11-23
    )
    status: int
    code: str | None = None
    version: int | None = None
    request: str | None = None
    count: int = 1

    @property
    def stream(self) -> str:
        """What may have changed something stands in a stream that nothing else can fill."""
        is_refused = 400 <= self.status < 500 and self.status != CLIENT_GONE
        if self.by is None or is_refused:
            return REFUSALS
        return READS if self.method in READ_METHODS and self.path != EXPORT else CHANGES
