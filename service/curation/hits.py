"""Hits: how often each edit answered users' questions, and when last.

Redis layout; no other module names these keys. They are beside the history: no commit changes them, and a backup
leaves them out.

    {errata}:hits:counts   zset   edit -> number of answers that rested on it
    {errata}:hits:times    zset   edit -> when the last of them was given, in Unix seconds
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from errata import wire

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
                writes.zincrby(COUNTS, hit.count, hit.edit).zadd(TIMES, {hit.edit: hit.at}, gt=True)
            writes.zcard(TIMES)
            n_edits = (await writes.execute())[-1]
            if n_edits > self._max_edits:
                silent = await self._redis.zrange(TIMES, 0, n_edits - self._max_edits - 1)
                await self._redis.pipeline().zrem(COUNTS, *silent).zrem(TIMES, *silent).execute()

    async def find(self, edits: Sequence[str]) -> dict[str, wire.Hits]:
        """Return the hits of those of the edits that have answered."""
        places = ((name, edit) for edit in edits for name in (COUNTS, TIMES))
        scores = iter(await self._connection.send_all("read the answers of edits", "zscore", places))
        return {
            edit: wire.Hits(count=int(count), last=datetime.fromtimestamp(at, UTC))
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
