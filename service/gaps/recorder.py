"""Counts unanswered questions in memory and writes them once a second, so that no question waits for Redis."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from dataclasses import replace

from service.concurrency import cancel_and_wait
from service.errors import LedgerUnavailable
from service.gaps.worklist import Kind, Sighting, Worklist

WRITE_EVERY_S = 1.0
RETRY_S = 10.0  # Pause after Redis could not be reached
MAX_WAITING = 1_000  # Questions that wait to be written; further new ones are not counted

log = logging.getLogger(__name__)


class GapRecorder:
    """The unanswered questions of one ingress that are not in Redis yet.

    Args:
        clock: Unix time in seconds.
    """

    def __init__(self, worklist: Worklist, clock: Callable[[], float] = time.time) -> None:
        self._worklist, self._clock = worklist, clock
        self._waiting: dict[str, Sighting] = {}
        self._task: asyncio.Task[None] | None = None

    def record(self, question: str, model: str, kind: Kind, thing: str = "") -> None:
        """Count a question; it is written later."""
        sighting = Sighting(question, model, kind, 1, self._clock(), thing)
        earlier = self._waiting.get(sighting.key)
        if earlier is None and len(self._waiting) >= MAX_WAITING:
            return
        self._waiting[sighting.key] = replace(sighting, count=1 + (earlier.count if earlier else 0))
        if self._task is None or self._task.done():
            # The task belongs to no request: without a new context it would carry the first one's trace.
            self._task = asyncio.create_task(self._write_all(), context=Context())

    async def flush(self) -> None:
        """Write what waits.

        Raises:
            LedgerUnavailable: Redis cannot be reached; nothing is forgotten.
        """
        sightings, self._waiting = self._waiting, {}
        try:
            if sightings:
                await self._worklist.add(list(sightings.values()))
        except BaseException:
            for key, sighting in self._waiting.items():
                earlier = sightings.get(key)
                sightings[key] = replace(sighting, count=sighting.count + (earlier.count if earlier else 0))
            self._waiting = sightings
            raise

    async def aclose(self) -> None:
        """Write the waiting counts if Redis can be reached."""
        if self._task is not None:
            await cancel_and_wait([self._task])
        with suppress(LedgerUnavailable):
            await self.flush()

    async def _write_all(self) -> None:
        pause_s = WRITE_EVERY_S
        while self._waiting:
            await asyncio.sleep(pause_s)
            try:
                await self.flush()
                pause_s = WRITE_EVERY_S
            except LedgerUnavailable as error:
                log.warning("unanswered questions wait to be written: %s", error.detail)
                pause_s = RETRY_S
