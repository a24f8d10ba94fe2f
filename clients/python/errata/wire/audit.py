"""The audit: who called the service."""

from __future__ import annotations

from datetime import datetime

from errata.wire.base import Response
from errata.wire.texts import CommitVersion


class AuditEntry(Response):
    """One call of an admin route."""

    id: str
    time: datetime
    """When the call was made; the last one, if several are merged."""
    first: datetime | None = None
    """When the first of several merged calls was made."""
    name: str
    """The caller's name, "" for an unknown caller."""
    by: str | None = None
    """How the caller was authenticated."""
    address: str
    """Where the call came from."""
    method: str
    """The verb of HTTP."""
    path: str
    """The path that was called."""
    summary: str = ""
    """The request in a few words."""
    status: int
    code: str | None = None
    """Code of the problem in the response, if it was one."""
    version: CommitVersion | None = None
    """Version of the commit that the call made, if it made one."""
    request: str | None = None
    """Id of the request, as in the logs."""
    count: int = 1
    """Number of equal calls that changed nothing and are merged; the entry describes the last."""
    pending: bool = False
    """True while calls are still added to the entry, for ten minutes at most; it then gets another id."""
    restored: bool = False
    """True if the entry came from a backup."""


class AuditPage(Response):
    """A page of entries, the newest first. The next page is asked with `next` as `before`; None ends the list.

    A page that is not the last may be empty: a filter has left out all entries that were read for it.
    """

    entries: list[AuditEntry]
    next: str | None = None
