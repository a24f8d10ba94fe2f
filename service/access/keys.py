"""From the header of a request to a caller: the admin's key, a key that was issued, or a token of the issuer.

Keys are compared by their digests, in constant time.
"""

from __future__ import annotations

import hmac
import time
from typing import Protocol

from service.access.caller import ADMIN, Caller
from service.access.issued import fingerprint, name_in
from service.access.remembered import Remembered
from service.errors import Unauthorized

LONGEST = 16_384  # characters of a token; proxies let no more pass
HOW = "send the header `Authorization: Bearer KEY`; the service's own key is in admin.key of its var folder"


class Tokens(Protocol):
    """Who else vouches for callers."""

    async def caller(self, token: str) -> Caller:
        """Unauthorized when the token is not good."""


class Keyring:
    """admin_sha256: hexadecimal digest of the admin's key, which needs no Redis. tokens: None where there are none."""

    def __init__(self, admin_sha256: str, issued: Remembered, tokens: Tokens | None = None) -> None:
        self._admin_sha256, self._issued, self._tokens = admin_sha256, issued, tokens

    async def caller(self, authorization: str | None) -> Caller:
        """Whose key the header carries. Unauthorized when it carries none, or one that is not known."""
        scheme, _, given = (authorization or "").partition(" ")
        if not authorization:
            raise Unauthorized(f"this needs a key: {HOW}")
        key = given.strip()
        if scheme.lower() != "bearer" or not key or len(key) > LONGEST:
            raise Unauthorized(f"the Authorization header is not of the form Bearer KEY: {HOW}")
        if hmac.compare_digest(fingerprint(key), self._admin_sha256):
            return ADMIN
        name = name_in(key)
        if name is not None:
            return await self._issued_to(name, key)
        if self._tokens is not None and key.count(".") == 2:
            return await self._tokens.caller(key)
        raise Unauthorized(f"this key is not known here: {HOW}")

    def changed(self, name: str) -> None:
        """The next request with this key is judged anew."""
        self._issued.forget(name)

    async def _issued_to(self, name: str, key: str) -> Caller:
        found = await self._issued.get(name)
        if found is None or not found.opened_by(key, time.time()):
            raise Unauthorized(f"this key is not known here, has ended or was revoked: {HOW}")
        return found.caller
