"""Whether a request may go on: who sends it, and how often that caller has called."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.access.caller import NOBODY, Caller, Scope
from service.access.keys import Keyring
from service.access.limits import Limits
from service.errors import Unauthorized


class Gate:
    """open_to_all: whether asking needs no key. of_key, of_address: limits for callers with a key, and without one."""

    def __init__(self, keyring: Keyring, of_key: Limits, of_address: Limits, open_to_all: bool) -> None:
        self.keyring = keyring
        self._of_key, self._of_address, self._open_to_all = of_key, of_address, open_to_all

    async def caller(self, authorization: str | None, address: str, scope: Scope | None) -> Caller:
        """Unauthorized or TooMany; what the caller may do is for the route to check.

        A call that is refused counts for the address it came from.
        """
        if scope == "ask" and self._open_to_all:
            await self._of_address.count(address)
            return NOBODY
        try:
            caller = await self.keyring.caller(authorization)
        except Unauthorized:
            await self._of_address.count(address)
            raise
        await self._of_key.count(caller.name)
        return caller

    @asynccontextmanager
    async def under_way(self, caller: Caller, address: str) -> AsyncIterator[None]:
        """For as long as the call takes. TooMany."""
        limits, who = (self._of_address, address) if caller is NOBODY else (self._of_key, caller.name)
        async with limits.at_once(who):
            yield
