"""A cache of issued keys, so that not every question waits for Redis, and answers go on while Redis is away."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from cachetools import LRUCache

from service.access.api_keys import ApiKey
from service.errors import LedgerUnavailable

MAX_AGE_S = 1.0  # a key that was revoked elsewhere is accepted here no longer than this
MAX_NAMES = 10_000


class KeyCache:
    """Serves a key from the cache while it is fresh, and a stale one when Redis is away.

    Names without a key are cached apart, so that guesses never evict a real key.

    Args:
        load: Reads a key by name; None where there is none. Raises LedgerUnavailable.
        clock: Monotonic time in seconds.
    """

    def __init__(
        self, load: Callable[[str], Awaitable[ApiKey | None]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._load, self._clock = load, clock
        self._keys: LRUCache[str, tuple[float, ApiKey | None]] = LRUCache(MAX_NAMES)
        self._unknown: LRUCache[str, tuple[float, ApiKey | None]] = LRUCache(MAX_NAMES)

    async def get(self, name: str) -> ApiKey | None:
        """Return the key of this name. Raises LedgerUnavailable for one that was never seen, with Redis away."""
        cached = self._keys.get(name) or self._unknown.get(name)
        now = self._clock()
        if cached is not None and now - cached[0] < MAX_AGE_S:
            return cached[1]
        try:
            key = await self._load(name)
        except LedgerUnavailable:
            if cached is None:
                raise
            key, now = cached[1], self._clock()  # the next request need not wait for Redis at once
        self.forget(name)
        cache = self._unknown if key is None else self._keys
        cache[name] = now, key
        return key

    def forget(self, name: str) -> None:
        """Drop a key that has just been changed."""
        self._keys.pop(name, None)
        self._unknown.pop(name, None)
