"""A value that is read again in the background when it is old."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from time import monotonic
from typing import Generic

from service.concurrency import T


class Refreshing(Generic[T]):
    """A value that one task reads anew for all who want it; it stays while later readings fail.

    Args:
        pause_s: Seconds after the end of a reading before the next one begins.

    Attributes:
        value: The result of the last successful reading.
        read_at: Time of that reading; minus infinity before the first.
        error: The error of the last reading, if it failed.
    """

    def __init__(
        self, read: Callable[[], Awaitable[T]], pause_s: float = 0.0, clock: Callable[[], float] = monotonic
    ) -> None:
        self._read, self._pause_s, self._clock = read, pause_s, clock
        self.value: T | None = None
        self.error: BaseException | None = None
        self.read_at = self._tried_at = self._began_at = float("-inf")
        self.task: asyncio.Task[None] | None = None

    @property
    def age_s(self) -> float:
        return self._clock() - self.read_at

    @property
    def is_new(self) -> bool:
        return self._tried_at == float("-inf")

    def current(self, max_age_s: float) -> T | None:
        return self.value if self.error is None and self.age_s < max_age_s else None

    async def get(self) -> T:
        """Return a value that is no older than the pause; raise what its reading raises."""
        await self.refresh()
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # T may include None

    def start(self) -> None:
        """Begin to read unless a reading is under way or has just ended.

        It runs in no request's context: Ray ends the calls of a request when its caller disconnects.
        """
        if self.task is None and self._clock() - self._tried_at >= self._pause_s:
            self._began_at = self._clock()
            self.task = asyncio.create_task(self._run(), context=Context())

    async def wait(self, limit_s: float) -> None:
        """Wait for the end of the reading that is under way, no longer than `limit_s` from its beginning."""
        if self.task is not None:
            await asyncio.wait([self.task], timeout=max(0.0, self._began_at + limit_s - self._clock()))

    async def refresh(self, wait_s: float | None = None) -> None:
        """Read anew, and wait for the end of the reading, `wait_s` at most."""
        self.start()
        if self.task is not None:
            await asyncio.wait([self.task], timeout=wait_s)

    async def _run(self) -> None:
        try:
            self.value, self.error = await self._read(), None
            self.read_at = self._clock()
        except BaseException as error:
            self.error = error
            if not isinstance(error, Exception):
                raise
        finally:
            self._tried_at, self.task = self._clock(), None
