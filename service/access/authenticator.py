"""Recognises the caller of a request by its Authorization header: the admin's key, an issued key, or an issuer's token.

Keys are compared by their digests, in constant time.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from cachetools import TTLCache

from service.access.api_keys import fingerprint, parse_name
from service.access.caller import ADMIN, Caller
from service.access.key_cache import KeyCache
from service.errors import Unauthorized

MAX_KEY_CHARS = 16_384  # characters of a token; proxies let no more pass
HOW = "send the header `Authorization: Bearer KEY`; the service's own key is in admin.key of its var folder"
PLACEHOLDER = "none"  # placeholder of clients that always send a key, such as OpenAI's
MAX_GOOD_TOKENS, GOOD_TOKEN_S = (
    10_000,
    60.0,
)  # Tokens whose next check is not counted, and for how many seconds


def carries_key(authorization: str | None) -> bool:
    """Return whether a header carries a key, and not nothing or the placeholder."""
    _, _, key = (authorization or "").partition(" ")
    return bool(authorization) and key.strip() not in ("", PLACEHOLDER)


class TokenVerifier(Protocol):
    async def verify(self, token: str) -> Caller:
        """Return the caller that a token names; raise Unauthorized if the token is not valid."""


class Authenticator:
    """Recognises callers.

    Args:
        admin_sha256: Hexadecimal digest of the admin's key, which needs no Redis.
        keys: The issued keys.
        tokens: Verifies an issuer's tokens; None without an issuer.
    """

    def __init__(self, admin_sha256: str, keys: KeyCache, tokens: TokenVerifier | None = None) -> None:
        self._admin_sha256, self._keys, self._tokens = admin_sha256, keys, tokens
        self._good_tokens: TTLCache[str, None] = TTLCache(MAX_GOOD_TOKENS, GOOD_TOKEN_S)

    async def authenticate(
        self, authorization: str | None, before_lookup: Callable[[], Awaitable[None]] | None = None
    ) -> Caller:
        """Return the caller whose key the header carries.

        Args:
            authorization: The header's value.
            before_lookup: Is awaited before Redis is asked for a name that is not in the cache, and before the
                signature of a token is checked that was not valid recently.

        Raises:
            Unauthorized: The header carries no key, or an unknown one.
        """
        if not authorization:
            raise Unauthorized(f"this needs a key: {HOW}")
        scheme, _, key = authorization.partition(" ")
        key = key.strip()
        if scheme.lower() != "bearer" or not key or len(key) > MAX_KEY_CHARS:
            raise Unauthorized(f"the Authorization header is not of the form Bearer KEY: {HOW}")
        digest = fingerprint(key)
        if hmac.compare_digest(digest, self._admin_sha256):
            return ADMIN
        name = parse_name(key)
        if name is not None:
            if before_lookup is not None and name not in self._keys:
                await before_lookup()
            record = await self._keys.get(name)
            if record is None or not record.accepts(key, time.time()):
                raise Unauthorized(f"this key is not known here, has ended or was revoked: {HOW}")
            return record.caller
        if self._tokens is not None and key.count(".") == 2:
            if before_lookup is not None and digest not in self._good_tokens:
                await before_lookup()
            caller = await self._tokens.verify(key)
            self._good_tokens[digest] = None
            return caller
        raise Unauthorized(f"this key is not known here: {HOW}")

    def forget(self, name: str) -> None:
        """Read the key of this name again for the next request."""
        self._keys.forget(name)

    async def aclose(self) -> None:
        await self._keys.aclose()
