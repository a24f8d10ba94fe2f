"""Proposals and the decisions about them, in Redis.

Redis layout; no other module names these keys:

    {errata}:proposals:last        string   the largest number so far
    {errata}:proposals:rows        hash     number -> the proposal as it was made, as JSON
    {errata}:proposals:decisions   hash     number -> its decision, as JSON

A decision is claimed before its commit is made, so that one of two approvals, or of an approval and a rejection, is the
decision. An approval that has no version yet was cut off: it may be repeated, and its commit is made once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Literal

from errata.wire.wording import normalize_question
from pydantic import BaseModel, ConfigDict

from service.errors import NotFound, TooMany
from service.ledger.connection import Connection
from service.ledger.keys import PREFIX

LAST, ROWS, DECISIONS = (f"{PREFIX}proposals:{name}" for name in ("last", "rows", "decisions"))
MAX_OPEN = 500  # proposals that wait at the same time
KEEP_S = 28 * 86_400.0  # seconds for which a proposal can be read after its decision or its end


class Row(BaseModel):
    """A proposal as it was made; times are Unix seconds."""

    model_config = ConfigDict(frozen=True)

    number: int
    author: str
    time: float
    expires: float
    message: str
    edits: list[dict[str, Any]]
    review: date | None = None

    @property
    def subjects(self) -> frozenset[str]:
        """Return what the edits are about: questions, and relations of things."""
        return frozenset(map(_subject_of, self.edits))


class Decision(BaseModel):
    """A decision; the version is that of an approval's commit."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["approved", "rejected"]
    by: str
    time: float
    reason: str = ""
    version: int | None = None

    @property
    def day(self) -> date:
        """Return its day in UTC."""
        return datetime.fromtimestamp(self.time, UTC).date()


class Entry(BaseModel):
    """A proposal with its decision, if there is one."""

    model_config = ConfigDict(frozen=True)

    row: Row
    decision: Decision | None

    def is_open(self, now: float) -> bool:
        """Return whether it can still be approved."""
        return self.decision is None and now < self.row.expires


class Proposals:
    """The proposals of one ledger. Every call ends within the connection's time limit, or raises LedgerUnavailable."""

    def __init__(self, connection: Connection, clock: Callable[[], float] = time.time) -> None:
        self._connection, self._redis, self.clock = connection, connection.commands, clock

    async def add(
        self,
        author: str,
        message: str,
        edits: Sequence[Mapping[str, Any]],
        expires_in_s: float,
        review: date | None = None,
    ) -> Row:
        """Store a proposal, and drop those that ended long ago."""
        now = self.clock()
        entries = await self.all()
        if sum(item.is_open(now) for item in entries) >= MAX_OPEN:
            raise TooMany(f"{MAX_OPEN} proposals are open: approve or reject some first")
        old = [item.row.number for item in entries if _end_of(item) < now - KEEP_S]
        async with self._connection.call("store a proposal"):
            number = await self._redis.incrby(LAST, 1)
            row = Row(
                number=number,
                author=author,
                time=now,
                expires=now + expires_in_s,
                message=message,
                edits=list(map(dict, edits)),
                review=review,
            )
            await self._redis.hset(ROWS, str(number), row.model_dump_json())
            if old:
                await self._redis.hdel(ROWS, *map(str, old))
                await self._redis.hdel(DECISIONS, *map(str, old))
        return row

    async def all(self) -> list[Entry]:
        """Return all proposals, the newest first."""
        async with self._connection.call("read proposals"):
            rows: Mapping[bytes, bytes] = await self._redis.hgetall(ROWS)
            decisions: Mapping[bytes, bytes] = await self._redis.hgetall(DECISIONS)
        entries = [_parse(data, decisions.get(number)) for number, data in rows.items()]
        return sorted(entries, key=lambda item: -item.row.number)

    async def get(self, number: int) -> Entry:
        """Return one proposal."""
        async with self._connection.call("read a proposal"):
            row = await self._redis.hget(ROWS, str(number))
            decision = await self._redis.hget(DECISIONS, str(number))
        if row is None:
            detail = (
                f"there is no proposal {number}, or not any more: `errata proposals` lists those there are"
            )
            raise NotFound(detail, proposal=number)
        return _parse(row, decision)

    async def claim(self, number: int, decision: Decision) -> Decision:
        """Make this the decision unless there is one, and return the one that holds."""
        async with self._connection.call("decide about a proposal"):
            await self._redis.hsetnx(DECISIONS, str(number), decision.model_dump_json())
            data = await self._redis.hget(DECISIONS, str(number))
        return decision if data is None else Decision.model_validate_json(data)

    async def settle(self, number: int, decision: Decision) -> None:
        """Replace a claim by the decision with its version."""
        async with self._connection.call("decide about a proposal"):
            await self._redis.hset(DECISIONS, str(number), decision.model_dump_json())

    async def release(self, number: int) -> None:
        """Take a claim back whose commit was refused."""
        async with self._connection.call("decide about a proposal"):
            await self._redis.hdel(DECISIONS, str(number))


def _parse(row: bytes, decision: bytes | None) -> Entry:
    verdict = None if decision is None else Decision.model_validate_json(decision)
    return Entry(row=Row.model_validate_json(row), decision=verdict)


def _end_of(item: Entry) -> float:
    return item.row.expires if item.decision is None else item.decision.time


def _subject_of(edit: Mapping[str, Any]) -> str:
    if "question" in edit and "memory" not in edit:
        return f"question {normalize_question(str(edit['question']))}"
    if "subject" in edit:
        return f"fact {normalize_question(str(edit['subject']))} {edit['relation']}"
    return f"change {edit}"
