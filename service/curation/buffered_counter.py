"""Counts of answers that are gathered in memory and written to Redis together, once a second."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import Context, ContextVar
from dataclasses import replace
from itertools import islice
from typing import Generic, Protocol, TypeVar

from service.concurrency import cancel_and_wait
from service.errors import LedgerUnavailable

WRITE_EVERY_S = 1.0
RETRY_S = 10.0  # Pause after Redis could not be reached
BATCH = 1_000  # Counts that one write takes


BY_CURATOR = ContextVar("whether a curator asks, and not a user whose questions are counted", default=False)


log = logging.getLogger(__name__)


class Count(Protocol):
    """A frozen dataclass with a count and a key under which equal ones add up; the later one's other fields hold."""

    @property
    def key(self) -> str:
        """A text that is equal for counts that add up."""

    @property
    def count(self) -> int:
        """The number that is added."""


T = TypeVar("T", bound=Count)


class BufferedCounter(Generic[T]):
    """The counts of one ingress that are not in Redis yet.

    Args:
        write: Adds counts to those in Redis, all or none.
        max_waiting: Counts that wait to be written; further new ones are left out, and the log says how many.
    """

    def __init__(
        self, name: str, write: Callable[[Sequence[T]], Awaitable[None]], max_waiting: int = BATCH
    ) -> None:
        self._name, self._write, self._max_waiting = name, write, max_waiting
        self._waiting: dict[str, T] = {}
        self._n_left_out = 0
        self._task: asyncio.Task[None] | None = None

    def add(self, item: T) -> None:
        """Count an item; it is written later. What a curator asks is not counted."""
        if BY_CURATOR.get():
            return
        if item.key not in self._waiting and len(self._waiting) >= self._max_waiting:
            self._n_left_out += item.count
            return
        self._merge(item)
        if self._task is None or self._task.done():
            # The task belongs to no request: without a new context it would carry the first one's trace.
            self._task = asyncio.create_task(self._write_all(), context=Context())

    async def flush(self) -> None:
        """Write all counts that wait.

        Raises:
            LedgerUnavailable: Redis cannot be reached; nothing is forgotten.
        """
        while self._waiting:
            items = {key: self._waiting.pop(key) for key in list(islice(self._waiting, BATCH))}
            try:
                await self._write(list(items.values()))
            except BaseException:
                later, self._waiting = self._waiting, self._waiting | items
                for key in later.keys() & items.keys():
                    self._merge(later[key])
                raise

    async def aclose(self) -> None:
        """Write the waiting counts if Redis can be reached."""
        if self._task is not None:
            await cancel_and_wait([self._task])
        with suppress(LedgerUnavailable):
            await self.flush()

    def _merge(self, item: T) -> None:
        earlier = self._waiting.get(item.key)
        count = item.count + (earlier.count if earlier else 0)
        self._waiting[item.key] = replace(item, count=count)  # type: ignore[type-var]  # a dataclass

    async def _write_all(self) -> None:
        pause_s = WRITE_EVERY_S
        while self._waiting:
            await asyncio.sleep(pause_s)
            try:
                await self.flush()
                pause_s = WRITE_EVERY_S
                if self._n_left_out:
                    log.warning("%d %s were not counted: too many waited", self._n_left_out, self._name)
                    self._n_left_out = 0
            except LedgerUnavailable as error:
                log.warning("%s wait to be written: %s", self._name, error.detail)
                pause_s = RETRY_S
