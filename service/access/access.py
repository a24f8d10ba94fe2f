"""All that stands between a request and what it asks for, built from what the operator set."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from service.access.api_keys import KeyStore
from service.access.audit import Audit
from service.access.authenticator import Authenticator, TokenVerifier
from service.access.caller import ANONYMOUS, Caller, Scope
from service.access.key_cache import KeyCache
from service.access.rate_limits import Rate, RateLimiter, RedisCounters
from service.errors import Unauthorized
from service.ledger.redis.connection import Connection


class Gate:
    """Decides whether a request may go on: who sends it, and how often that caller has called.

    Args:
        keys: Limits of callers with a key, by name.
        addresses: Limits of callers without a key, and of refused keys, by address.
        anonymous: Whether asking needs no key.
    """

    def __init__(
        self, authenticator: Authenticator, keys: RateLimiter, addresses: RateLimiter, anonymous: bool
    ) -> None:
        self.authenticator = authenticator
        self._keys, self._addresses, self._anonymous = keys, addresses, anonymous

    async def admit(self, authorization: str | None, address: str, scope: Scope | None) -> Caller:
        """Return the caller, and count the call. What the caller may do is for the route to check.

        Raises:
            Unauthorized: the header carries no valid key; the call counts for its address.
            TooMany: it is one call too many.
        """
        if scope == "ask" and self._anonymous:
            await self._addresses.count(address)
            return ANONYMOUS
        try:
            caller = await self.authenticator.authenticate(authorization)
        except Unauthorized:
            await self._addresses.count(address)
            raise
        await self._keys.count(caller.name)
        return caller

    async def charge(self, caller: Caller, address: str, n_calls: int) -> None:
        """Count an admitted call as so many more. Raises TooMany."""
        limiter, name = self._limit(caller, address)
        await limiter.count(name, n_calls)

    @asynccontextmanager
    async def hold(self, caller: Caller, address: str) -> AsyncIterator[None]:
        """Count the call as under way while the block runs. Raises TooMany."""
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
    ) -> Access:
        """Build the parts; nothing is sent before the first request.

        Args:
            timeout_s: How long Redis may take for one call.
            anonymous: Whether asking needs no key.
        """
        connection = Connection(redis_url, timeout_s)
        store, counters = KeyStore(connection), RedisCounters(connection)
        authenticator = Authenticator(admin_sha256, KeyCache(store.get), tokens)
        keys, addresses = (RateLimiter(rate, counters, timeout_s) for rate in (key_rate, address_rate))
        return Access(Gate(authenticator, keys, addresses, anonymous), store, Audit(connection), connection)

    async def aclose(self) -> None:
        await self.connection.aclose()
