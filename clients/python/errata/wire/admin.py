"""Keys and the audit, names of versions, and backups: what an administrator looks after."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, WithJsonSchema

from errata.wire.base import CommitVersion, Request, Response, Version, check_name

Scope: TypeAlias = Literal["ask", "read", "propose", "edit", "admin"]


NAME = r"[A-Za-z0-9][A-Za-z0-9.@+-]{0,63}"
NAME_RULE = "may have 1 to 64 letters, digits and . @ + -, and begins with a letter or a digit"
KeyName = Annotated[
    str, check_name(NAME, NAME_RULE), WithJsonSchema({"type": "string", "pattern": f"^{NAME}$"})
]
Lifetime = Annotated[float, Field(gt=0, le=10 * 366 * 86_400)]

LONGEST_OVERLAP_S = 30 * 86_400


class KeyRequest(Request):
    """Asks for a new key."""

    name: KeyName
    """The key's owner, who is the author in the ledger."""
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=5)]
    expires_in_s: Lifetime | None = None
    """Seconds until the key ends; None for no end."""


class RotateRequest(Request):
    """Asks for a new secret of a key."""

    keep_old_s: Annotated[float, Field(ge=0, le=LONGEST_OVERLAP_S)] = 86_400.0
    """Seconds for which the old secret stays valid, so that no client is locked out meanwhile."""
    expires_in_s: Lifetime | None = None
    """Seconds until the key ends; None leaves its end as it is."""


class KeyState(Response):
    """A key. A time is None for an event that has not happened."""

    name: str
    scopes: list[Scope]
    created: datetime
    created_by: str
    """Name of the key that made it."""
    expires: datetime | None = None
    """End of the key."""
    rotated: datetime | None = None
    """Time of its newest secret."""
    revoked: datetime | None = None
    """Time at which it was revoked."""
    has_secret: bool = True
    """False for a key from a backup without secrets, until it is rotated."""


class NewKey(KeyState):
    """A new key with its secret, `key`, which only this response shows; the service stores a digest of it."""

    key: str


class KeyList(Response):
    """Keys, sorted by name."""

    keys: list[KeyState]


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


class Whoami(Response):
    """The name and scopes of the key in the request."""

    name: str
    scopes: list[str]


TAG = r"[A-Za-z][A-Za-z0-9._+-]{0,63}"  # begins with a letter, so that a command can take a tag or a number
TAG_RULE = "may have 1 to 64 letters, digits and . _ + -, and begins with a letter"
TagName = Annotated[str, check_name(TAG, TAG_RULE), WithJsonSchema({"type": "string", "pattern": f"^{TAG}$"})]


class TagRequest(Request):
    """The version to name; 0 is the base, before any edit."""

    version: Version


class Tag(Response):
    """A name of a version, and its author (`by`)."""

    name: str
    version: Version
    by: str
    time: datetime


class TagList(Response):
    """Tags, the newest version first."""

    tags: list[Tag]


BACKUP_TYPE = "application/x-tar"
SEAL = "sha256"  # last member of a backup, which names the SHA-256 of every byte before it


class BackupHead(Response):
    """The description of a backup, with its unix time in seconds and the checkpoint of each memory."""

    format: int
    version: Version
    digest: str
    created: float = 0.0
    checkpoints: dict[str, str]


class RestoreReceipt(Response):
    """The receipt of a restore, with counts of data that were not there yet."""

    version: Version
    commits: int
    """Number of restored commits."""
    tags: int = 0
    """Number of restored tags."""
    keys: int
    """Number of restored keys."""
    audit: int
    """Number of restored calls of the audit."""
