"""Keys and the audit: who may call the service, and who has called it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, WithJsonSchema

from errata.wire.base import CommitVersion, Request, Response, check_name

Scope: TypeAlias = Literal["ask", "read", "propose", "edit", "admin"]


NAME = r"[A-Za-z0-9][A-Za-z0-9.@+-]{0,63}"
NAME_RULE = "may have 1 to 64 letters, digits and . @ + -, and begins with a letter or a digit"
KeyName = Annotated[
    str, check_name(NAME, NAME_RULE), WithJsonSchema({"type": "string", "pattern": f"^{NAME}$"})
]
Lifetime = Annotated[float, Field(gt=0, le=10 * 366 * 86_400)]

LONGEST_OVERLAP_S = 30 * 86_400


class KeyRequest(Request):
    """Asks for a new key.

    Attributes:
        name: The key's owner, who is the author in the ledger.
        expires_in_s: Seconds until the key ends; None for no end.
    """

    name: KeyName
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=5)]
    expires_in_s: Lifetime | None = None


class RotateRequest(Request):
    """Asks for a new secret of a key.

    Attributes:
        keep_old_s: Seconds for which the old secret stays valid, so that no client is locked out meanwhile.
        expires_in_s: Seconds until the key ends; None leaves its end as it is.
    """

    keep_old_s: Annotated[float, Field(ge=0, le=LONGEST_OVERLAP_S)] = 86_400.0
    expires_in_s: Lifetime | None = None


class KeyState(Response):
    """A key. A time is None for an event that has not happened.

    Attributes:
        created_by: Name of the key that made it.
        expires: End of the key.
        rotated: Time of its newest secret.
        revoked: Time at which it was revoked.
        has_secret: False for a key from a backup without secrets, until it is rotated.
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
    """A new key with its secret, `key`, which only this response shows; the service stores a digest of it."""

    key: str


class KeyList(Response):
    """Keys, sorted by name."""

    keys: list[KeyState]


class AuditEntry(Response):
    """One call of an admin route.

    Attributes:
        name: The caller's name, "" for an unknown caller.
        by: How the caller was authenticated.
        address: Where the call came from.
        method: The verb of HTTP.
        path: The path that was called.
        summary: The request in a few words.
        code: Code of the problem in the response, if it was one.
        version: Version of the commit that the call made, if it made one.
        request: Id of the request, as in the logs.
        count: Number of equal calls that changed nothing and are merged; the entry describes the last.
        time: When the call was made; the last one, if several are merged.
        first: When the first of several merged calls was made.
        pending: True while calls are still added to the entry, for ten minutes at most; it then gets another id.
        restored: True if the entry came from a backup.
    """

    id: str
    time: datetime
    first: datetime | None = None
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
    pending: bool = False
    restored: bool = False


class AuditPage(Response):
    """A page of entries, the newest first. The next page is asked with `next` as `before`; None ends the list.

    A page that is not the last may be empty: a filter has left out all entries that were read for it.
    """

    entries: list[AuditEntry]
    next: str | None = None
