"""Who called the admin routes, for what, from where and with what outcome: written once, never changed.

Redis layout; no other module names this key:

    {errata}:audit            stream    one call per entry, by the server's clock; `entry` is a Call as JSON
    {errata}:audit:restored   stream    what a backup brought, of before: a stream takes nothing older than it has
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from service.access.caller import By
from service.ledger.connection import Connection
from service.ledger.keys import PREFIX

AUDIT = PREFIX + "audit"
RESTORED = AUDIT + ":restored"
PAGE = 500  # entries read at once; those that a filter leaves out are read past


class Call(BaseModel):
    """name: "" for a caller nobody knows. summary: the request in a few words. code: of a problem.

    version: of a commit. request: its id, as in the logs.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    address: str
    method: str
    path: str
    by: By | None = None
    summary: str = ""
    status: int
    code: str | None = None
    version: int | None = None
    request: str | None = None


@dataclass(frozen=True)
class Entry:
    """id: in the order of time. time: unix time in seconds, of the Redis server."""

    id: str
    call: Call

    @property
    def time(self) -> float:
        return self.place[0] / 1e3

    @property
    def place(self) -> tuple[int, int]:
        """In the order of a stream. ValueError for what is no id of one."""
        milliseconds, _, number = self.id.partition("-")
        return int(milliseconds), int(number)


@dataclass(frozen=True)
class Filter:
    """None leaves nothing out. path: how it begins. since, until: unix times in seconds."""

    name: str | None = None
    path: str | None = None
    refused: bool | None = None
    version: int | None = None
    since: float | None = None
    until: float | None = None

    def takes(self, call: Call) -> bool:
        return (
            (self.name is None or call.name == self.name)
            and (self.path is None or call.path.startswith(self.path))
            and (self.refused is None or (call.status >= 400) == self.refused)
            and (self.version is None or call.version == self.version)
        )


class Audit(Protocol):
    async def append(self, call: Call) -> None:
        """LedgerUnavailable when it cannot be written."""

    async def newest(self, limit: int, before: str | None, wanted: Filter) -> Sequence[Entry]:
        """The newest first. before: the id of the entry to go on from."""

    async def oldest(self, limit: int, after: str | None) -> Sequence[Entry]:
        """The oldest first. after: the id of the entry to go on from."""

    async def restore(self, entries: Sequence[Entry]) -> int:
        """Put back what a backup had, in order, and how many that were; those that are there are left as they are."""


class RedisAudit:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._redis = connection.commands

    async def append(self, call: Call) -> None:
        async with self._connection.bounded("write its audit"):
            await self._redis.xadd(AUDIT, {"entry": call.model_dump_json(exclude_none=True)})

    async def newest(self, limit: int, before: str | None, wanted: Filter) -> Sequence[Entry]:
        start, end = _bound(wanted.since, "-"), f"({before}" if before else _bound(wanted.until, "+")
        found: list[Entry] = []
        async for entry in self._both(start, end, backwards=True):
            if wanted.takes(entry.call):
                found.append(entry)
            if len(found) == limit:
                break
        return found

    async def oldest(self, limit: int, after: str | None) -> Sequence[Entry]:
        found: list[Entry] = []
        async for entry in self._both(f"({after}" if after else "-", "+"):
            found.append(entry)
            if len(found) == limit:
                break
        return found

    async def restore(self, entries: Sequence[Entry]) -> int:
        async with self._connection.bounded("write its audit back"):
            last: list[Any] = await self._redis.xrevrange(RESTORED, "+", "-", count=1)
            newest = _entry(last[0]).place if last else (0, 0)
            later = [one for one in entries if one.place > newest]
            looking = self._redis.pipeline(transaction=False)
            for one in later:
                looking.xrange(AUDIT, one.id, one.id)
            fresh = [one for one, there in zip(later, await looking.execute(), strict=True) if not there]
            writing = self._redis.pipeline(transaction=False)
            for one in fresh:
                writing.xadd(RESTORED, {"entry": one.call.model_dump_json(exclude_none=True)}, id=one.id)
            await writing.execute()
        return len(fresh)

    async def _both(self, start: str, end: str, backwards: bool = False) -> AsyncIterator[Entry]:
        """Of both streams, in the order of time: what was restored may be younger than the first call here."""
        streams = [self._pages(name, start, end, backwards) for name in (AUDIT, RESTORED)]
        waiting = {stream: entry for stream in streams if (entry := await anext(stream, None))}
        first = max if backwards else min
        while waiting:
            stream = first(waiting, key=lambda one: waiting[one].place)
            yield waiting.pop(stream)
            following = await anext(stream, None)
            if following:
                waiting[stream] = following

    async def _pages(self, stream: str, start: str, end: str, backwards: bool) -> AsyncGenerator[Entry]:
        page: list[Any] = [None] * PAGE
        while len(page) == PAGE:
            async with self._connection.bounded("read its audit"):
                if backwards:
                    page = await self._redis.xrevrange(stream, end, start, count=PAGE)
                else:
                    page = await self._redis.xrange(stream, start, end, count=PAGE)
            for entry in map(_entry, page):
                yield entry
                beyond = f"({entry.id}"
                start, end = (start, beyond) if backwards else (beyond, end)


def _entry(raw: Any) -> Entry:
    return Entry(raw[0].decode(), Call.model_validate_json(raw[1][b"entry"]))


def _bound(time: float | None, none: str) -> str:
    return none if time is None else str(int(1e3 * time))
