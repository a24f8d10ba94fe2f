"""Hits: how often each edit answered users' questions, and when last.

Redis layout; no other module names these keys. They are beside the history: no commit changes them, and a backup
leaves them out.

    {errata}:hits:counts   zset   edit -> number of answers that rested on it
    {errata}:hits:times    zset   edit -> when the last of them was given, in Unix seconds

Review dates: the day on which a person looks at an edit again.

A date changes no answer, so it is no part of the history and may be moved. Nothing is switched off by it.

    {errata}:reviews   zset   edit -> its day, as the number of days since the first of January of the year 1

No other module names this key. A date is written before the commit of its edit, so that a crash between the two loses
none; the date of an edit that was never made, or was taken back, is never listed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Sequence
from contextlib import suppress
from contextvars import Context, ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import islice
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from service.concurrency import cancel_and_wait
from service.errors import InvalidInput, LedgerUnavailable
from service.ledger.connection import Connection
from service.ledger.keys import PREFIX

COUNTS, TIMES = PREFIX + "hits:counts", PREFIX + "hits:times"
# Edits whose hits are kept; beyond it those that have not answered for longest are dropped
MAX_EDITS = 200_000
PAGE = 1_000  # edits that one look at the most used reads


@dataclass(frozen=True)
class Hits:
    """The answers that rested on one edit: how many, and the time of the last in Unix seconds."""

    edit: str
    count: int
    at: float

    @property
    def key(self) -> str:
        return self.edit


class HitCounts:
    """The hits in Redis."""

    def __init__(self, connection: Connection, max_edits: int = MAX_EDITS) -> None:
        self._connection, self._redis = connection, connection.commands
        self._max_edits = max_edits

    async def add(self, hits: Sequence[Hits]) -> None:
        """Count answers."""
        async with self._connection.call("count the answers of edits"):
            writes = self._redis.pipeline()
            for hit in hits:
                writes.zincrby(COUNTS, hit.count, hit.edit)
                writes.zadd(TIMES, {hit.edit: hit.at}, gt=True)
            writes.zcard(TIMES)
            n_edits = (await writes.execute())[-1]
            if n_edits > self._max_edits:
                silent = await self._redis.zrange(TIMES, 0, n_edits - self._max_edits - 1)
                drops = self._redis.pipeline()
                for name in (COUNTS, TIMES):
                    drops.zrem(name, *silent)
                await drops.execute()

    async def find(self, edits: Sequence[str]) -> dict[str, Hits]:
        """Return the hits of those of the edits that have answered."""
        async with self._connection.call("read the answers of edits"):
            reads = self._redis.pipeline()
            for edit in edits:
                reads.zscore(COUNTS, edit)
                reads.zscore(TIMES, edit)
            scores = iter(await reads.execute())
        return {
            edit: Hits(edit, int(count), at)
            for edit, count, at in zip(edits, scores, scores, strict=True)
            if count is not None and at is not None
        }

    async def list_top(self, limit: int, edits: Container[str]) -> list[str]:
        """Return those of the edits that have answered most, the most used first."""
        top: list[str] = []
        async with self._connection.call("list the answers of edits"):
            for start in range(0, self._max_edits, PAGE):
                page = await self._redis.zrange(COUNTS, start, start + PAGE - 1, desc=True)
                top += [name for name in map(bytes.decode, page) if name in edits]
                if len(top) >= limit or len(page) < PAGE:
                    break
        return top[:limit]


KEY = PREFIX + "reviews"


class Review(BaseModel, frozen=True):
    """The day on which a person looks at an edit again."""

    edit: str
    on: date


class Reviews:
    """The review dates of one ledger. Every call ends within the connection's limit, or raises LedgerUnavailable."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._redis = connection, connection.commands

    async def put(self, reviews: Sequence[Review]) -> None:
        """Set the dates of edits, in place of earlier ones."""
        if reviews:
            async with self._connection.call("keep review dates"):
                await self._redis.zadd(KEY, {review.edit: review.on.toordinal() for review in reviews})

    async def remove(self, edit: str) -> None:
        """Take an edit's date away, if it has one."""
        async with self._connection.call("take a review date away"):
            await self._redis.zrem(KEY, edit)

    async def find(self, edits: Sequence[str]) -> dict[str, date]:
        """Return the dates of those of the edits that have one."""
        async with self._connection.call("read review dates"):
            reads = self._redis.pipeline()
            for edit in edits:
                reads.zscore(KEY, edit)
            days = await reads.execute()
        return {
            edit: date.fromordinal(int(day)) for edit, day in zip(edits, days, strict=True) if day is not None
        }

    async def list_until(self, last: date = date.max) -> list[Review]:
        """Return the dates up to a day, the earliest first."""
        async with self._connection.call("list review dates"):
            pairs = await self._redis.zrange(KEY, "-inf", last.toordinal(), byscore=True, withscores=True)
        return [Review(edit=edit.decode(), on=date.fromordinal(int(day))) for edit, day in pairs]


def find_today() -> date:
    """Return the day in UTC."""
    return datetime.now(UTC).date()


def check_day(on: date | None) -> None:
    """Raise InvalidInput if a day is past."""
    if on is not None and on < find_today():
        raise InvalidInput(f"{on} is past: give today or a later day", field="review")


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


class Tally(Generic[T]):
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
