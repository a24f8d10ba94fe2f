"""Issued keys as they were a moment ago: not every question waits for Redis, and none for one that is gone."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from service.access.issued import IssuedKey
from service.access.register import Register
from service.errors import LedgerUnavailable

FRESH_S = 1.0  # after that long at the latest, a key that was revoked elsewhere opens nothing here
MOST = 10_000  # names; the one asked for longest ago leaves first


class Remembered:
    """With Redis gone, a key that was seen goes on opening as it last did; one never seen is LedgerUnavailable."""

    def __init__(self, register: Register, clock: Callable[[], float] = time.monotonic) -> None:
        self._register, self._clock = register, clock
        self._known: OrderedDict[str, tuple[float, IssuedKey | None]] = OrderedDict()

    async def get(self, name: str) -> IssuedKey | None:
        read, key = self._known.get(name, (None, None))
        now = self._clock()
        if read is not None and now - read < FRESH_S:
            return key
        try:
            key = await self._register.get(name)
        except LedgerUnavailable:
            if read is None:
                raise
            now = self._clock()  # it was waited for, and the next need not wait at once
        self._keep(name, now, key)
        return key

    def forget(self, name: str) -> None:
        """It has just been changed."""
        self._known.pop(name, None)

    def _keep(self, name: str, now: float, key: IssuedKey | None) -> None:
        self._known[name] = now, key
        self._known.move_to_end(name)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
