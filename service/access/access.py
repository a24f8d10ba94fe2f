"""The checks between a request and its route, built from the operator's settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from service.access.api_keys import KeyStore
from service.access.audit.audit import Audit
from service.access.authenticator import (
    OUTAGE_S,
    PATIENCE_S,
    Authenticator,
    KeyCache,
    TokenVerifier,
    carries_key,
)
from service.access.caller import ANONYMOUS, Caller, Scope
from service.access.rate_limits import Rate, RateLimiter, RedisCounters
from service.errors import Unauthorized, Unavailable
from service.ledger.connection import Connection


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
        for part in (self.authenticator, self._keys, self._addresses):
            await part.aclose()

    async def charge(self, caller: Caller, address: str, n_calls: int) -> None:
        """Count further calls; raise TooMany at the caller's limit."""
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
