"""Who is calling, and what that caller may do. Only digests of keys are kept, and they are compared in constant time.

For now there is one key, the admin's, which may do everything; scopes are asked for at every route already, so
that further keys change this file alone.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Literal, TypeAlias

from service.errors import Forbidden, Unauthorized

Scope: TypeAlias = Literal["ask", "read", "edit", "admin"]

EVERYTHING: tuple[Scope, ...] = ("ask", "read", "edit", "admin")
HOW = "send the header `Authorization: Bearer KEY`; the service's own key is in admin.key of its var folder"


@dataclass(frozen=True)
class Caller:
    """name: what the ledger notes as the author of a commit."""

    name: str
    scopes: tuple[Scope, ...]

    def check(self, scope: Scope) -> None:
        if scope not in self.scopes:
            raise Forbidden(f"the key {self.name!r} may not {scope}: use one that may", scope=scope)


class Keyring:
    """admin_sha256: hexadecimal digest of the admin's key."""

    def __init__(self, admin_sha256: str) -> None:
        self._admin = Caller("admin", EVERYTHING)
        self._digest = admin_sha256

    def caller(self, authorization: str | None) -> Caller:
        """Whose key the header carries. Unauthorized when it carries none, or one that is not known."""
        scheme, _, key = (authorization or "").partition(" ")
        if not authorization:
            raise Unauthorized(f"this needs a key: {HOW}")
        if scheme.lower() != "bearer" or not key.strip():
            raise Unauthorized(f"the Authorization header is not of the form Bearer KEY: {HOW}")
        if not hmac.compare_digest(fingerprint(key.strip()), self._digest):
            raise Unauthorized(f"this key is not known here: {HOW}")
        return self._admin


def fingerprint(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
