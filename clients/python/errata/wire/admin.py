"""Keys of callers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, WithJsonSchema

from errata.wire.base import Request, Response
from errata.wire.texts import check_name

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


class Whoami(Response):
    """The name and scopes of the key in the request."""

    name: str
    scopes: list[str]
