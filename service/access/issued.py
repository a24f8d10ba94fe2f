"""A key as it is handed out, and what is kept of it: never the secret, which nobody can read again.

A secret has 256 random bits, so that its SHA-256 can be kept as it is: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from service.access.caller import Caller, Scope

PREFIX = "errata"
SECRET_BYTES = 32
LONGEST_NAME = 64  # characters; nobody has one that is longer, so it need not be looked for


def fingerprint(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


class Secret(BaseModel):
    """sha256: of the whole key. until: unix time in seconds from which on it opens nothing; None for the key's end."""

    model_config = ConfigDict(frozen=True)

    sha256: str
    until: float | None = None

    def opens(self, key: str, now: float) -> bool:
        return hmac.compare_digest(fingerprint(key), self.sha256) and (self.until is None or now < self.until)


class IssuedKey(BaseModel):
    """Times are unix times in seconds. secrets: the newest first; an older one opens until it ends.

    expires: when the key ends, with or without secrets; None for never.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]
    created: float
    created_by: str
    expires: float | None = None
    rotated: float | None = None
    revoked: float | None = None
    secrets: tuple[Secret, ...]

    def opened_by(self, key: str, now: float) -> bool:
        return self.in_force(now) and any(secret.opens(key, now) for secret in self.secrets)

    def in_force(self, now: float) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)

    @property
    def caller(self) -> Caller:
        return Caller(self.name, self.scopes)

    def without_secrets(self) -> IssuedKey:
        """It opens nothing until it is rotated."""
        return self.model_copy(update={"secrets": ()})

    def followed_by(
        self, key: str, now: float, keep_old_s: float, expires_in_s: float | None = None
    ) -> IssuedKey:
        """With a new secret, and the old ones for a while yet. expires_in_s: until its new end; None keeps it."""
        old = list(_ending(self.secrets, now, now + keep_old_s))
        fresh = Secret(sha256=fingerprint(key))
        ends = self.expires if expires_in_s is None else now + expires_in_s
        return self.model_copy(update={"secrets": (fresh, *old), "rotated": now, "expires": ends})


def new_key(name: str) -> str:
    """The name is part of it, so that one found where it should not be tells whose it is."""
    return f"{PREFIX}_{name}_{secrets.token_urlsafe(SECRET_BYTES)}"


def name_in(key: str) -> str | None:
    """Whose key it says it is; None for one that was not made here."""
    prefix, _, rest = key.partition("_")
    name, underscore, _ = rest.partition("_")
    return name if prefix == PREFIX and underscore and 0 < len(name) <= LONGEST_NAME else None


def _ending(secrets: tuple[Secret, ...], now: float, until: float) -> Iterator[Secret]:
    for secret in secrets:
        end = until if secret.until is None else min(until, secret.until)
        if end > now:
            yield secret.model_copy(update={"until": end})
