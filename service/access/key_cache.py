"""A cache of issued keys, so that hardly a question waits for Redis, and answers go on while Redis is away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from cachetools import LRUCache

from service.access.api_keys import ApiKey
from service.concurrency import cancel_and_wait
from service.errors import LedgerUnavailable

MAX_AGE_S = 1.0  # a key that was revoked elsewhere is accepted here no longer than this
REFRESH_AGE_S = 0.5  # Age from which on a key is read anew, beside those who use it
PATIENCE_S = 0.5  # Seconds for Redis; after that nobody waits for this key until Redis answers again
MAX_NAMES = 10_000


class KeyCache:
    """Serves a key from the cache while it is fresh, and a stale one when Redis is away.

    Names without a key are cached apart, so that guesses never evict a real key. Single-flight: all who want one name
    share a read.

    Args:
        load: Reads a key by name; None where there is none. Raises LedgerUnavailable.
        clock: Monotonic time in seconds.
    """

    def __init__(
        self,
        load: Callable[[str], Coroutine[Any, Any, ApiKey | None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load, self._clock = load, clock
        self._keys: LRUCache[str, tuple[float, ApiKey | None]] = LRUCache(MAX_NAMES)
        self._unknown: LRUCache[str, tuple[float, ApiKey | None]] = LRUCache(MAX_NAMES)
        self._reads: dict[str, asyncio.Task[ApiKey | None]] = {}
        self._away: set[str] = set()  # Names whose last read failed: nobody waits for them

    def __contains__(self, name: str) -> bool:
        """Whether the cache has a key of this name."""
        return name in self._keys

    async def get(self, name: str) -> ApiKey | None:
        """Return the key of this name. Raises LedgerUnavailable for one that was never seen, with Redis away."""
        cached = self._keys.get(name) or self._unknown.get(name)
        if cached is None:
            return await asyncio.shield(self._read(name))
        read_at, key = cached
        age_s = self._clock() - read_at
        if age_s < REFRESH_AGE_S:
            return key
        read = self._read(name)
        if age_s >= MAX_AGE_S and name not in self._away:
            await asyncio.wait([read], timeout=PATIENCE_S)
            if read.done() and read.exception() is None:
                return read.result()
            self._away.add(name)
        return key

    def forget(self, name: str) -> None:
        """Drop a key that has just been changed, and what is being read of it."""
        self._keys.pop(name, None)
        self._unknown.pop(name, None)
        self._reads.pop(name, None)

    async def aclose(self) -> None:
        await cancel_and_wait(self._reads.values())

    def _read(self, name: str) -> asyncio.Task[ApiKey | None]:
        if name not in self._reads:
            task = self._reads[name] = asyncio.create_task(self._load(name))
            task.add_done_callback(lambda read: self._store(name, read))
        return self._reads[name]

    def _store(self, name: str, read: asyncio.Task[ApiKey | None]) -> None:
        is_current = self._reads.get(name) is read
        if is_current:
            del self._reads[name]
        if read.cancelled():
            return
        if isinstance(read.exception(), LedgerUnavailable):
            self._away.add(name)
        else:
            self._away.clear()
        if is_current and read.exception() is None:
            self.forget(name)
            cache = self._unknown if read.result() is None else self._keys
            cache[name] = self._clock(), read.result()
