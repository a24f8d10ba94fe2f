"""A cache of issued keys, which lets few questions wait for Redis; answers continue while Redis is away."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial

from cachetools import LRUCache

from service.access.api_keys import ApiKey
from service.concurrency import cancel_and_wait
from service.errors import LedgerUnavailable
from service.refreshing import Refreshing

MAX_AGE_S = 1.0  # Age up to which a key is accepted that was revoked elsewhere
REFRESH_AGE_S = 0.5  # Age at which a key is read again in the background
PATIENCE_S = 0.5  # Seconds that a key waits for Redis; then it waits no more until Redis answers
OUTAGE_S = 24 * 3_600.0  # Age up to which a key is accepted while Redis is away
MAX_NAMES = 10_000


class KeyCache:
    """Serves a key from the cache while it is fresh, and an older one while Redis is away.

    Names without a key are cached separately, so that guesses never evict a real key. All requests for one name share
    a read.
    """

    def __init__(
        self,
        load: Callable[[str], Awaitable[ApiKey | None]],
        clock: Callable[[], float] = time.monotonic,
        outage_s: float = OUTAGE_S,
    ) -> None:
        self._load, self._clock, self._outage_s = load, clock, outage_s
        self._keys: LRUCache[str, Refreshing[ApiKey | None]] = LRUCache(MAX_NAMES)
        self._unknown: LRUCache[str, Refreshing[ApiKey | None]] = LRUCache(MAX_NAMES)
        self._away: LRUCache[str, None] = LRUCache(
            MAX_NAMES
        )  # Names whose last read failed, which wait no more

    def __contains__(self, name: str) -> bool:
        return name in self._keys

    async def get(self, name: str) -> ApiKey | None:
        """Return the key of this name; raise LedgerUnavailable without a usable record while Redis is away."""
        entry = self._keys.get(name) or self._unknown.get(name)
        if entry is None:
            entry = self._unknown[name] = Refreshing(partial(self._read, name), clock=self._clock)
        age_s = entry.age_s
        if age_s >= self._outage_s:
            await entry.get()
        elif age_s >= MAX_AGE_S and name not in self._away:
            await entry.refresh(PATIENCE_S)
            if entry.task is not None:
                self._away[name] = None
        elif age_s >= REFRESH_AGE_S:
            entry.start()
        if entry.value is not None and self._unknown.get(name) is entry:
            self._keys[name] = self._unknown.pop(name)
        return entry.value

    def forget(self, name: str) -> None:
        """Drop a key that has just been changed; a reading of it that is under way is not kept."""
        self._keys.pop(name, None)
        self._unknown.pop(name, None)

    async def aclose(self) -> None:
        entries = (*self._keys.values(), *self._unknown.values())
        await cancel_and_wait([entry.task for entry in entries if entry.task is not None])

    async def _read(self, name: str) -> ApiKey | None:
        try:
            key = await self._load(name)
        except LedgerUnavailable:
            self._away[name] = None
            raise
        self._away.clear()
        return key
