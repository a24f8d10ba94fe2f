"""Keys and the audit: who may call the service, and who has called it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, WithJsonSchema

from errata.wire.base import CommitVersion, Request, Response, check_name

Scope: TypeAlias = Literal["ask", "read", "edit", "admin"]


NAME = r"[A-Za-z0-9][A-Za-z0-9.@+-]{0,63}"
NAME_RULE = "may have 1 to 64 letters, digits and . @ + -, and begins with a letter or a digit"
KeyName = Annotated[
    str, check_name(NAME, NAME_RULE), WithJsonSchema({"type": "string", "pattern": f"^{NAME}$"})
]
Lifetime = Annotated[float, Field(gt=0, le=10 * 366 * 86_400)]

LONGEST_OVERLAP_S = 30 * 86_400


class KeyRequest(Request):
    """A key to be made. name: its owner, the author in the ledger. expires_in_s: seconds; None: it has no end."""

    name: KeyName
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]
    expires_in_s: Lifetime | None = None


class RotateRequest(Request):
    """keep_old_s: for how many seconds the old secret stays valid, so that nobody is locked out meanwhile.

    expires_in_s: seconds from now until the key ends; None to leave its end as it is.
    """

    keep_old_s: Annotated[float, Field(ge=0, le=LONGEST_OVERLAP_S)] = 86_400.0
    expires_in_s: Lifetime | None = None


class KeyState(Response):
    """Times are None for what has not happened, or never will.

    has_secret: False for a key restored from a backup, which has no secrets, until it is rotated.
    """

    name: str
    scopes: list[Scope]
    created: datetime
    created_by: str
    expires: datetime | None = None
    rotated: datetime | None = None
    revoked: datetime | None = None
    has_secret: bool = True


class NewKey(KeyState):
    """key: what its owner sends. It is shown in this response only; the service stores a digest of it."""

    key: str


class KeyList(Response):
    """Sorted by name."""

    keys: list[KeyState]


class AuditEntry(Response):
    """One call of an admin route.

    name: of the caller, "" for an unknown one. by: how the caller was authenticated.
    summary: the request in a few words. code: of the problem it was answered with. version: of the commit it made.
    request: the id of the request, as in the logs. count: of calls like this one, which are merged when they changed
    nothing; what is said is of the last of them. restored: a backup brought it.
    """

    id: str
    time: datetime
    name: str
    by: str | None = None
    address: str
    method: str
    path: str
    summary: str = ""
    status: int
    code: str | None = None
    version: CommitVersion | None = None
    request: str | None = None
    count: int = 1
    restored: bool = False


class AuditPage(Response):
    """The newest first. next: what to give as `before` for the page after this one; None on the last.

    A page that is not the last may be empty: a filter left out all that it looked at.
    """

    entries: list[AuditEntry]
    next: str | None = None
