"""Proposals and the decisions about them, in Redis.

Redis layout; no other module names these keys:

    {errata}:proposals:last        string   the largest number so far
    {errata}:proposals:rows        hash     number -> the proposal as it was made, as JSON
    {errata}:proposals:decisions   hash     number -> its decision, as JSON
    {errata}:proposals:open        zset     the number of each that is not decided, by its end; +inf if claimed
    {errata}:proposals:past        zset     the number of each other, scored by its end
    {errata}:proposals:bytes       string   the size of the rows that ended

A decision is claimed before its commit is made, so that one of two approvals, or of an approval and a rejection, is the
decision. An approval that has no version yet is a claim. Its commit has the idempotency key of the proposal, which
is the same for every approver, so the ledger says whether it was made; each reading of a claim settles it by that. A
rejection closes the key.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from errata.wire.wording import normalize_question
from more_itertools import chunked
from pydantic import BaseModel

from service.errors import NotFound, TooMany
from service.ledger import keys
from service.ledger.commit import Commit
from service.ledger.connection import Connection
from service.ledger.keys import PREFIX

LAST, ROWS, DECISIONS, OPEN, PAST, BYTES = (
    f"{PREFIX}proposals:{name}" for name in ("last", "rows", "decisions", "open", "past", "bytes")
)
KEY_OWNER, name_key = keys.PROPOSALS, keys.proposal  # the idempotency keys of approvals
SCRIPT_KEYS = [DECISIONS, OPEN, PAST, ROWS, BYTES]
MAX_OPEN, MAX_OPEN_BYTES = 500, 16_000_000  # proposals that wait at the same time
MAX_PAST, MAX_PAST_BYTES = 10_000, 64_000_000  # beyond it those that ended first are dropped
MAX_LISTED, MAX_LISTED_BYTES = 200, 1_000_000  # ended proposals in one list
PAGE = 10  # rows that one command reads, each up to a megabyte
STEP = 100  # proposals that one call cleans up
KEEP_S = 28 * 86_400.0  # seconds for which a proposal can be read after its decision or its end
CUT_OFF_S = 60.0  # after which an approval without a commit was cut off, and another may complete it


class Row(BaseModel, frozen=True):
    """A proposal as it was made; times are Unix seconds."""

    number: int
    author: str
    time: float
    expires: float
    message: str
    edits: list[dict[str, Any]]
    review: date | None = None

    @property
    def origin(self) -> str:
        """Return what the message of its commit ends with, and no other commit's."""
        return f"Proposal {self.number} by {self.author}"

    @cached_property
    def subjects(self) -> frozenset[str]:
        """Return what the edits are about: questions, and relations of things."""
        return frozenset(map(_subject_of, self.edits))


class Decision(BaseModel, frozen=True):
    """A decision; the version is that of an approval's commit."""

    kind: Literal["approved", "rejected"]
    by: str
    time: float
    reason: str = ""
    version: int | None = None

    @property
    def is_claim(self) -> bool:
        """Return whether it is an approval whose commit is not known to be made."""
        return self.kind == "approved" and self.version is None

    @property
    def day(self) -> date:
        """Return its day in UTC."""
        return datetime.fromtimestamp(self.time, UTC).date()


class Entry(BaseModel, frozen=True):
    """A proposal with its decision, if there is one."""

    row: Row
    decision: Decision | None

    def is_open(self, now: float) -> bool:
        """Return whether it can still be approved; one whose approval was cut off does not expire."""
        if self.decision is None:
            return now < self.row.expires
        return self.decision.is_claim and now - self.decision.time > CUT_OFF_S


class Proposals:
    """The proposals of one ledger. Every call ends within the connection's time limit, or raises LedgerUnavailable."""

    def __init__(self, connection: Connection, clock: Callable[[], float] = time.time) -> None:
        self._connection, self._redis, self.clock = connection, connection.commands, clock
        self._decide, self._retire = (
            self._redis.register_script((Path(__file__).parent / f"{name}.lua").read_text(encoding="utf-8"))
            for name in ("decide", "retire")
        )

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
        n_open, n_bytes = await self._clean_up()
        if n_open >= MAX_OPEN or n_bytes >= MAX_OPEN_BYTES:
            raise TooMany(f"{n_open} proposals of {n_bytes:,} bytes are open: approve or reject some first")
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
            writes = self._redis.pipeline(transaction=True)
            writes.hset(ROWS, str(number), row.model_dump_json())
            writes.zadd(OPEN, {str(number): row.expires})
            await writes.execute()
        return row

    async def list_newest(self, max_past: int = 0) -> tuple[list[Entry], int]:
        """Return the proposals that wait and the last of the others, the newest first, and how many are left out."""
        await self._clean_up()
        async with self._connection.call("read proposals"):
            waiting = await self._redis.zrange(OPEN, 0, -1)  # at most MAX_OPEN
            past = await self._redis.zrange(
                PAST, "+inf", "-inf", desc=True, byscore=True, offset=0, num=max_past
            )
            n_past = await self._redis.zcard(PAST)
        last = await self._read(past, MAX_LISTED_BYTES)
        # One may have ended since the numbers were read, and be among both
        entries = {item.row.number: item for item in [*last, *await self._read(waiting)]}
        return sorted(entries.values(), key=lambda item: -item.row.number), n_past - len(last)

    async def get(self, number: int) -> Entry:
        """Return one proposal."""
        for item in await self._read([b"%d" % number]):
            return item
        raise NotFound(
            f"there is no proposal {number}, or not any more: `errata proposals` lists those there are",
            proposal=number,
        )

    async def claim(self, item: Entry, decision: Decision, previous: Decision | None = None) -> Decision:
        """Make this the decision in place of the previous, unless there is another, and return the one that holds."""
        return await self.put(item.row, decision, _encode(previous)) or decision

    async def put(self, row: Row, decision: Decision | None, previous: str) -> Decision | None:
        """Put a decision in the place of the previous one, "*" for any, and return the one that holds."""
        place: tuple[str, float] = ("open", row.expires)
        if decision is not None:
            place = ("open", math.inf) if decision.is_claim else ("ended", decision.time)
        elif row.expires <= self.clock():
            place = ("ended", row.expires)
        return _decode(
            await self._connection.send(
                "decide about a proposal",
                self._decide(keys=SCRIPT_KEYS, args=[row.number, previous, _encode(decision), *place]),
            )
        )

    async def settle(self, row: Row, claim: Decision) -> Decision | None:
        """Put the approval in the place of its claim if the ledger has its commit, and return it."""
        approval = await self.find_made(row, claim)
        return approval and (await self.put(row, approval, "*") or approval)

    async def close(self, row: Row, claim: Decision) -> Decision | None:
        """Make the ledger refuse a commit of the proposal from now on; return the approval if there is a commit."""
        name = keys.idempotency(KEY_OWNER, name_key(row.number))
        await self._connection.send(
            "close a proposal", self._redis.set(name, keys.CLOSED, nx=True, ex=keys.PROPOSAL_TTL_S)
        )
        return await self.settle(row, claim)

    async def find_made(self, row: Row, claim: Decision) -> Decision | None:
        """Return the approval whose commit is in the ledger; None if there is no commit yet.

        An older build gave the key to the approver, who may have used it for another commit: its message tells.
        """
        names = [keys.idempotency(owner, name_key(row.number)) for owner in (KEY_OWNER, claim.by)]
        async with self._connection.call("look for the commit of a proposal"):
            versions = {
                int(item) for item in await self._redis.mget(names) if item not in (None, keys.CLOSED)
            }
            for place in map(keys.entry, versions):
                for _, fields in await self._redis.xrange(keys.LOG, place, place):
                    commit = Commit.decode(fields[b"commit"])
                    if commit.message.endswith(row.origin):
                        return Decision(
                            kind="approved", by=commit.author, time=commit.time, version=commit.version
                        )
        return None

    async def _read(self, numbers: Sequence[bytes], max_bytes: float = math.inf) -> list[Entry]:
        """Return these proposals until they have so many bytes; settle claims by the ledger."""
        entries = []
        for page in chunked(numbers, PAGE):
            async with self._connection.call("read proposals"):
                # In this order, for one that is dropped meanwhile must not look open
                decisions = await self._redis.hmget(DECISIONS, page)
                rows = await self._redis.hmget(ROWS, page)
            for data, decision in zip(rows, decisions, strict=True):
                if data is not None:
                    row, holding = Row.model_validate_json(data), _decode(decision)
                    if holding is not None and holding.is_claim:
                        holding = await self.settle(row, holding) or holding
                    entries.append(Entry(row=row, decision=holding))
                    max_bytes -= len(data)
            if max_bytes < 0:
                break
        return entries

    async def _clean_up(self) -> tuple[int, int]:
        """Drop some of those that ended long ago; return how many are open, and their bytes."""
        now = self.clock()
        limits = [now, now - KEEP_S, MAX_PAST, MAX_PAST_BYTES, STEP]
        while True:
            async with self._connection.call("clean up proposals"):
                n_open, n_bytes, n_unsorted = await self._retire(keys=SCRIPT_KEYS, args=limits)
                numbers = await self._redis.hkeys(ROWS) if n_unsorted > 0 else []
            if not numbers:
                return n_open, n_bytes
            # An older build did not sort them into open ones and those that ended
            for page in chunked(numbers, PAGE):
                for item in await self._read(page):
                    await self.put(item.row, item.decision, _encode(item.decision))


def _encode(decision: Decision | None) -> str:
    return "" if decision is None else decision.model_dump_json()


def _decode(data: bytes | None) -> Decision | None:
    return Decision.model_validate_json(data) if data else None


def _subject_of(edit: Mapping[str, Any]) -> str:
    if "question" in edit and "memory" not in edit:
        return f"question {normalize_question(str(edit['question']))}"
    if "subject" in edit:
        return f"fact {normalize_question(str(edit['subject']))} {edit['relation']}"
    return f"change {edit}"
