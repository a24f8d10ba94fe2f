"""Who called the admin routes, for what, from where and with what outcome: written once, never changed.

Redis layout; no other module names this key:

    {errata}:audit            stream    one call per entry, by the server's clock; `entry` is a Call as JSON
    {errata}:audit:restored   stream    what a backup brought, of before: a stream takes nothing older than it has
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from service.access.caller import Method
from service.ledger.keys import PREFIX
from service.ledger.redis.connection import Connection

AUDIT = PREFIX + "audit"
RESTORED_AUDIT = AUDIT + ":restored"
PAGE = 500  # entries read at once; those that a filter leaves out are skipped


class Call(BaseModel):
    """One call of an admin route.

    Attributes:
        name: Of the caller; "" for one who is not known.
        summary: The request in a few words.
        code: Of a problem.
        version: Of a commit.
        request: The request's id, as in the logs.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    address: str
    method: str
    path: str
    by: Method | None = None
    summary: Annotated[str, Field(validation_alias=AliasChoices("summary", "what"))] = (
        ""  # `what` until 2026-11-23
    )
    status: int
    code: str | None = None
    version: int | None = None
    request: str | None = None


@dataclass(frozen=True)
class Entry:
    """A call in the stream. id: in the order of time, `<milliseconds>-<number>` by the clock of the Redis server."""

    id: str
    call: Call

    @property
    def time(self) -> float:
        """Unix time in seconds."""
        return self.place[0] / 1e3

    @property
    def place(self) -> tuple[int, int]:
        """The id as numbers that sort. Raises ValueError for what is no id of a stream."""
        milliseconds, _, number = self.id.partition("-")
        return int(milliseconds), int(number)


@dataclass(frozen=True)
class Filter:
    """Which calls to read; None leaves nothing out.

    Attributes:
        path: How the path begins.
        since: Unix time in seconds; so is `until`.
    """

    name: str | None = None
    path: str | None = None
    refused: bool | None = None
    version: int | None = None
    since: float | None = None
    until: float | None = None

    def matches(self, call: Call) -> bool:
        return (
            (self.name is None or call.name == self.name)
            and (self.path is None or call.path.startswith(self.path))
            and (self.refused is None or (call.status >= 400) == self.refused)
            and (self.version is None or call.version == self.version)
        )


class Audit:
    """The two streams, read as one. Raises LedgerUnavailable when Redis cannot be reached."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._redis = connection.commands

    async def append(self, call: Call) -> None:
        async with self._connection.call("write its audit"):
            await self._redis.xadd(AUDIT, {"entry": call.model_dump_json(exclude_none=True)})

    async def newest(self, limit: int, before: str | None, filter: Filter) -> Sequence[Entry]:
        """Return matching entries, the newest first. before: the id of the entry to go on from."""
        start, end = _first_id(filter.since, "-"), f"({before}" if before else _first_id(filter.until, "+")
        entries: list[Entry] = []
        async for entry in self._merge(start, end, backwards=True):
            if filter.matches(entry.call):
                entries.append(entry)
            if len(entries) == limit:
                break
        return entries

    async def oldest(self, limit: int, after: str | None) -> Sequence[Entry]:
        """Return entries, the oldest first. after: the id of the entry to go on from."""
        entries: list[Entry] = []
        async for entry in self._merge(f"({after}" if after else "-", "+"):
            entries.append(entry)
            if len(entries) == limit:
                break
        return entries

    async def restore(self, entries: Sequence[Entry]) -> int:
        """Put back what a backup had, in order; return how many entries were not there already."""
        async with self._connection.call("write its audit back"):
            last: list[Any] = await self._redis.xrevrange(RESTORED_AUDIT, "+", "-", count=1)
            newest = _parse(last[0]).place if last else (0, 0)
            later = [entry for entry in entries if entry.place > newest]
            reads = self._redis.pipeline(transaction=False)
            for entry in later:
                reads.xrange(AUDIT, entry.id, entry.id)
            missing = [entry for entry, match in zip(later, await reads.execute(), strict=True) if not match]
            writes = self._redis.pipeline(transaction=False)
            for entry in missing:
                writes.xadd(
                    RESTORED_AUDIT, {"entry": entry.call.model_dump_json(exclude_none=True)}, id=entry.id
                )
            await writes.execute()
        return len(missing)

    async def _merge(self, start: str, end: str, backwards: bool = False) -> AsyncIterator[Entry]:
        """Yield entries of both streams in the order of time: restored ones may be the younger ones."""
        streams = [self._pages(name, start, end, backwards) for name in (AUDIT, RESTORED_AUDIT)]
        heads = {stream: entry for stream in streams if (entry := await anext(stream, None))}
        first = max if backwards else min
        while heads:
            stream = first(heads, key=lambda stream: heads[stream].place)
            yield heads.pop(stream)
            following = await anext(stream, None)
            if following:
                heads[stream] = following

    async def _pages(self, stream: str, start: str, end: str, backwards: bool) -> AsyncGenerator[Entry]:
        page: list[Any] = [None] * PAGE
        while len(page) == PAGE:
            async with self._connection.call("read its audit"):
                if backwards:
                    page = await self._redis.xrevrange(stream, end, start, count=PAGE)
                else:
                    page = await self._redis.xrange(stream, start, end, count=PAGE)
            for entry in map(_parse, page):
                yield entry
                beyond = f"({entry.id}"
                start, end = (start, beyond) if backwards else (beyond, end)


def _parse(raw: Any) -> Entry:
    return Entry(raw[0].decode(), Call.model_validate_json(raw[1][b"entry"]))


def _first_id(time: float | None, default: str) -> str:
    return default if time is None else str(int(1e3 * time))
