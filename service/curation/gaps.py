"""The worklist of curators: questions that were declined, or answered beside a near edit, with their counts.

Redis layout; no other module names these keys. All of them expire when nothing was added for the time that texts are
kept:

    {errata}:gaps:rows     hash     line -> the question, its model and its kind, as JSON
    {errata}:gaps:lines    hash     model and normalized question -> line
    {errata}:gaps:counts   zset     line, scored by how often it was asked
    {errata}:gaps:times    zset     line, scored by when it was asked last, in Unix seconds
    {errata}:gaps:last     string   the largest line number so far

A line is a number with leading zeros, so that of equally often asked lines the oldest sort first.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from errata.wire import Gap
from errata.wire.wording import normalize_question

from service.errors import NotFound
from service.ledger.connection import Connection
from service.ledger.keys import PREFIX

ROWS, LINES, COUNTS, TIMES, LAST = (
    f"{PREFIX}gaps:{name}" for name in ("rows", "lines", "counts", "times", "last")
)
KEYS = (ROWS, LINES, COUNTS, TIMES, LAST)
MAX_LINES = 2_000  # Lines that are kept; beyond it the least asked go first
LINE_DIGITS = 12

Kind: TypeAlias = Literal["declined", "uncovered", "near"]


@dataclass(frozen=True)
class Occurrence:
    """A question that was asked and not answered well."""

    question: str
    model: str  # the model that was asked, `auto` for all
    # Whether the question was declined, declined beside facts of its thing that do not cover it, or answered
    # without the edit that it is near to
    kind: Kind
    count: int  # how often it was asked
    at: float  # when it was asked last, in Unix seconds
    thing: str = ""  # name of the thing of which facts are known, as the question has it

    @property
    def key(self) -> str:
        """Return a text that is equal for the same question to the same model."""
        return _key(self)


class Worklist:
    """The lines in Redis.

    Args:
        keep: How long a question is kept after it was asked last.
        max_lines: Number of lines beyond which the least asked are dropped.
    """

    def __init__(
        self,
        connection: Connection,
        keep: timedelta,
        max_lines: int = MAX_LINES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._connection, self._redis = connection, connection.commands
        self._keep, self._max_lines, self._clock = keep, max_lines, clock

    async def add(self, occurrences: Sequence[Occurrence]) -> None:
        """Count questions, and drop lines that are too old or too many."""
        async with self._connection.call("count unanswered questions"):
            lines = await self._number([occurrence.key for occurrence in occurrences])
            writes = self._redis.pipeline()
            for occurrence in occurrences:
                line = lines[occurrence.key]
                row = {name: getattr(occurrence, name) for name in ("question", "model", "kind", "thing")}
                writes.hset(ROWS, line, json.dumps(row)).zincrby(COUNTS, occurrence.count, line)
                writes.zadd(TIMES, {line: occurrence.at}, gt=True)
            for key in KEYS:
                writes.expire(key, self._keep)
            await writes.execute()
            await self._drop(await self._find_old())
            n_lines = await self._redis.zcard(COUNTS)
            if n_lines > self._max_lines:
                await self._drop(await self._redis.zrange(COUNTS, 0, n_lines - self._max_lines - 1))

    async def read(self, limit: int) -> tuple[list[Gap], int]:
        """Return the lines that were asked most, and how many lines there are."""
        async with self._connection.call("read unanswered questions"):
            await self._drop(await self._find_old())
            lines = (await self._redis.zrange(COUNTS, -limit, -1))[::-1]
            n_lines = await self._redis.zcard(COUNTS)
            gaps = await self._read_lines(lines)
        # Counts may have grown since the lines were ranked.
        return sorted(gaps, key=lambda gap: -gap.count), n_lines

    async def get(self, line: int) -> Gap:
        """Return one line."""
        async with self._connection.call("read unanswered questions"):
            gaps = await self._read_lines([_to_member(line)])
        if not gaps:
            raise NotFound(
                f"line {line} is not in the worklist, or not any more: `errata gaps` or GET /admin/gaps lists them",
                line=line,
            )
        return gaps[0]

    async def remove(self, line: int) -> Gap:
        """Take a line out and return it."""
        gap = await self.get(line)
        async with self._connection.call("drop an unanswered question"):
            await self._drop([_to_member(line)])
        return gap

    async def _number(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the line of each key; a new one gets the next number."""
        lines = dict(zip(keys, await self._redis.hmget(LINES, keys), strict=True))
        new_keys = [key for key, line in lines.items() if line is None]
        if new_keys:
            last = await self._redis.incrby(LAST, len(new_keys))
            writes = self._redis.pipeline()
            for number, key in enumerate(new_keys, last - len(new_keys) + 1):
                # Another ingress may have numbered it meanwhile: its number holds.
                writes.hsetnx(LINES, key, _to_member(number))
            await writes.execute()
            lines |= dict(zip(new_keys, await self._redis.hmget(LINES, new_keys), strict=True))
        return lines

    async def _read_lines(self, members: Sequence[bytes]) -> list[Gap]:
        reads = self._redis.pipeline()
        for member in members:
            reads.hget(ROWS, member).zscore(COUNTS, member).zscore(TIMES, member)
        values = iter(await reads.execute())
        return [
            Gap(line=int(member), count=int(count), last=datetime.fromtimestamp(at, UTC), **json.loads(row))
            for member, row, count, at in zip(members, values, values, values, strict=True)
            if row is not None and count is not None and at is not None
        ]

    async def _find_old(self) -> list[bytes]:
        end = self._clock() - self._keep.total_seconds()
        lines: list[bytes] = await self._redis.zrange(TIMES, "-inf", end, byscore=True)
        return lines

    async def _drop(self, members: Sequence[bytes]) -> None:
        if not members:
            return
        keys = [_key(gap) for gap in await self._read_lines(members)]
        writes = self._redis.pipeline()
        writes.zrem(COUNTS, *members).zrem(TIMES, *members).hdel(ROWS, *members)
        if keys:
            writes.hdel(LINES, *keys)
        await writes.execute()


def _key(question: Occurrence | Gap) -> str:
    return f"{question.model} {normalize_question(question.question)}"


def _to_member(line: int) -> bytes:
    return f"{line:0{LINE_DIGITS}}".encode()
