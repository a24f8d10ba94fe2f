"""The checks between a request and its route: who calls, by the Authorization header, and how often.

A caller has the admin's key, an issued key, or an issuer's token. Keys are compared by their digests, in constant time.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from cachetools import TTLCache

from service.access.api_keys import KeyStore, fingerprint, parse_name
from service.access.audit.audit import Audit
from service.access.caller import ADMIN, ANONYMOUS, Caller, Scope
from service.access.key_cache import OUTAGE_S, PATIENCE_S, KeyCache
from service.access.rate_limits import Rate, RateLimiter, RedisCounters
from service.errors import Unauthorized, Unavailable
from service.ledger.connection import Connection

MAX_KEY_CHARS = 16_384  # characters of a token; proxies let no more pass
HOW = "send the header `Authorization: Bearer KEY`; the service's own key is in admin.key of its var folder"
PLACEHOLDER = "none"  # placeholder of clients that always send a key, such as OpenAI's
# Tokens whose next check is not counted, and for how many seconds
MAX_GOOD_TOKENS, GOOD_TOKEN_S = 10_000, 60.0


def carries_key(authorization: str | None) -> bool:
    """Return whether a header carries a key, and not nothing or the placeholder."""
    _, _, key = (authorization or "").partition(" ")
    return bool(authorization) and key.strip() not in ("", PLACEHOLDER)


class TokenVerifier(Protocol):
    async def verify(self, token: str) -> Caller:
        """Return the caller that a token names; raise Unauthorized if the token is not valid."""


class Authenticator:
    def __init__(self, admin_sha256: str, keys: KeyCache, tokens: TokenVerifier | None = None) -> None:
        self.keys = keys
        self._admin_sha256, self._tokens = admin_sha256, tokens
        self._good_tokens: TTLCache[str, None] = TTLCache(MAX_GOOD_TOKENS, GOOD_TOKEN_S)

    async def authenticate(
        self, authorization: str | None, before_lookup: Callable[[], Awaitable[None]] | None = None
    ) -> Caller:
        """Return the caller whose key the header carries.

        Args:
            before_lookup: Is awaited before Redis is asked for a name that is not in the cache, and before the
                signature of a token is checked that was not valid recently.
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
            if before_lookup is not None and name not in self.keys:
                await before_lookup()
            record = await self.keys.get(name)
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


class Gate:
    """Decides whether a request may go on: who sends it, and how often that caller has called.

    Args:
        keys: Limits of callers with a key, by name.
        addresses: Limits of callers without a key, and of refused keys, by address.
    """

    def __init__(
        self, authenticator: Authenticator, keys: RateLimiter, addresses: RateLimiter, anonymous: bool
    ) -> None:
        self.authenticator = authenticator
        self._keys, self._addresses, self._anonymous = keys, addresses, anonymous

    async def admit(self, authorization: str | None, address: str, scope: Scope | None) -> Caller:
        """Return the caller, and count the call. The route checks what the caller may do.

        A key that is sent is checked and counted by its name even if asking needs none.

        Raises:
            Unauthorized: The header carries no valid key; the call counts for its address.
        """
        is_open = scope == "ask" and self._anonymous
        if is_open and not carries_key(authorization):
            await self._addresses.count(address)
            return ANONYMOUS
        try:
            caller = await self.authenticator.authenticate(
                authorization, before_lookup=lambda: self._addresses.count(f"lookups of {address}")
            )
        except (Unauthorized, Unavailable) as error:
            await self._addresses.count(address)
            if is_open and isinstance(error, Unavailable):  # the key cannot be checked
                return ANONYMOUS
            raise
        await self._keys.count(caller.name)
        return caller.allow("ask") if is_open else caller

    async def aclose(self) -> None:
        for part in (self.authenticator.keys, self._keys, self._addresses):
            await part.aclose()

    async def charge(self, caller: Caller, address: str, n_calls: int) -> None:
        limiter, name = self._limit(caller, address)
        await limiter.count(name, n_calls)

    @asynccontextmanager
    async def hold(self, caller: Caller, address: str) -> AsyncIterator[None]:
        """Count the call as under way while the block runs; raise TooMany at the caller's limit."""
        limiter, name = self._limit(caller, address)
        async with limiter.hold(name):
            yield

    def _limit(self, caller: Caller, address: str) -> tuple[RateLimiter, str]:
        return (self._addresses, address) if caller is ANONYMOUS else (self._keys, caller.name)


@dataclass(frozen=True)
class Access:
    gate: Gate
    keys: KeyStore
    audit: Audit
    connection: Connection

    @staticmethod
    def connect(
        redis_url: str,
        timeout_s: float,
        admin_sha256: str,
        key_rate: Rate,
        address_rate: Rate,
        anonymous: bool,
        tokens: TokenVerifier | None = None,
        on_refusal: Callable[[str, str], None] = lambda by, limit: None,
        key_outage_s: float = OUTAGE_S,
    ) -> Access:
        """Build the parts; nothing is sent before the first request.

        Args:
            on_refusal: Receives the kind of count, key or address, and the limit that refused a call.
        """
        connection = Connection(redis_url, timeout_s)
        store, counters = KeyStore(connection), RedisCounters(connection)
        authenticator = Authenticator(admin_sha256, KeyCache(store.get, outage_s=key_outage_s), tokens)
        keys, addresses = (
            RateLimiter(rate, counters, min(timeout_s, PATIENCE_S), on_refusal=partial(on_refusal, by))
            for by, rate in (("key", key_rate), ("address", address_rate))
        )
        return Access(Gate(authenticator, keys, addresses, anonymous), store, Audit(connection), connection)

    async def aclose(self) -> int:
        """Return the number of calls that are missing in the audit because it could not be written."""
        await self.gate.aclose()
        n_lost = await self.audit.aclose()
        await self.connection.aclose()
        return n_lost
