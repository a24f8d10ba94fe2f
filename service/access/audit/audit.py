"""The audit of the admin routes: caller, call, address and outcome, written once and never changed.

Redis layout; no other module names these keys:

    {errata}:audit            stream    calls that may have changed something, one an entry; never trimmed
    {errata}:audit:refused    stream    refused calls, and those of unknown callers, merged (merger.py); trimmed
    {errata}:audit:reads      stream    calls that only read, merged; trimmed
    {errata}:audit:restored   stream    earlier entries from a backup: a stream takes none older than its newest

`entry` is a Call as JSON; ids are by the server's clock, and no two streams have the same one.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from more_itertools import chunked

from service.access.audit.calls import CHANGES, READS, REFUSALS, RESTORATION, Call
from service.access.audit.merger import WINDOW_S, CallMerger
from service.ledger.connection import Connection

STREAMS = (CHANGES, REFUSALS, READS)
MAX_MERGED = 5_000  # Entries of each stream that is trimmed
PAGE = 500  # entries read at once; those that a filter leaves out are skipped
MAX_SCANNED = 5_000  # Entries that one request reads, however many its filter leaves out
FIRST_PENDING = 1_000_000  # Number in the id of the first entry that is still counting: no stream gets there


@dataclass(frozen=True)
class Entry:
    """A call in a stream, or calls that are still counted and will be in one."""

    # `<milliseconds>-<number>` of the time when it was written, by the clock of the Redis server; of its last
    # call while it is pending
    id: str
    call: Call
    restored: bool = False  # whether a backup brought it
    pending: bool = False  # whether calls are still added to it; it gets another id when it is written

    @property
    def time(self) -> float:
        """Unix time in seconds of the call; of the last one, if several were merged."""
        return self.place[0] / 1e3 if self.call.last_at is None else self.call.last_at

    @property
    def place(self) -> tuple[int, int]:
        """The id as numbers that sort; raises ValueError for a text that is not the id of a stream."""
        return _parse_id(self.id)


@dataclass(frozen=True)
class Filter:
    name: str | None = None
    path: str | None = None  # beginning of the path
    refused: bool | None = None
    version: int | None = None
    since: float | None = None  # Unix time in seconds, like `until`
    until: float | None = None

    def matches(self, entry: Entry) -> bool:
        call = entry.call
        return (
            (self.name is None or call.name == self.name)
            and (self.path is None or call.path.startswith(self.path))
            and (self.refused is None or (call.status >= 400) == self.refused)
            and (self.version is None or call.version == self.version)
            and (self.since is None or entry.time >= self.since)
            and (self.until is None or entry.time <= self.until)
        )


class Audit:
    """The streams, read as one. Raises LedgerUnavailable when Redis cannot be reached."""

    def __init__(
        self,
        connection: Connection,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._connection = connection
        self._redis = connection.commands
        self._append = self._redis.register_script(Path(__file__).with_name("append.lua").read_text("utf-8"))
        self._merger = CallMerger(self.append, clock, wall_clock)

    async def record(self, call: Call) -> None:
        """Write a call that may have changed something; count any other one, which is written later."""
        if call.stream == CHANGES:
            await self.append(call)
        else:
            self._merger.add(call)

    async def append(self, call: Call) -> None:
        content = call.model_dump_json(exclude_none=True, exclude_defaults=True)
        limit = 0 if call.stream == CHANGES else MAX_MERGED
        arguments = [content, limit, STREAMS.index(call.stream), len(STREAMS)]
        await self._connection.send("write its audit", self._append(keys=[call.stream], args=arguments))

    async def aclose(self) -> int:
        """Write all counted calls, and return the number of calls that could not be written."""
        return await self._merger.aclose()

    async def newest(
        self, limit: int, before: str | None, filter: Filter
    ) -> tuple[Sequence[Entry], str | None]:
        """Return a page of matching entries, the newest first, and the id before which the next page ends.

        It includes entries that this process has yet to write.

        Args:
            limit: Number of entries of a page; None is returned after the last page.
            before: Id before which the page ends.
        """
        await self._merger.write_due()
        written_by = None if filter.until is None else filter.until + WINDOW_S
        start, end = _first_id(filter.since, "-"), f"({before}" if before else _first_id(written_by, "+")
        counts = [  # entries that this process has yet to write
            Entry(f"{round(1e3 * (call.last_at or 0.0))}-{number}", call, pending=True)
            for number, call in enumerate(self._merger.pending(), FIRST_PENDING)
        ]
        pending = [e for e in reversed(counts) if before is None or e.place < _parse_id(before)]
        entries: list[Entry] = []
        n_scanned = 0
        async for entry in self._merge(start, end, backwards=True, pending=pending):
            n_scanned += 1
            if filter.matches(entry):
                entries.append(entry)
            if len(entries) == limit or n_scanned == MAX_SCANNED:
                return entries, entry.id
        return entries, None

    async def oldest(self, limit: int, after: str | None) -> Sequence[Entry]:
        """Return entries, the oldest first, after the entry with the id `after`."""
        entries: list[Entry] = []
        async for entry in self._merge(f"({after}" if after else "-", "+"):
            entries.append(entry)
            if len(entries) == limit:
                break
        return entries

    async def restore(self, entries: Sequence[Entry]) -> int:
        """Put back the entries of a backup, in order, and return how many were missing."""
        purpose = "write its audit back"
        last = await self._connection.send(purpose, self._redis.xrevrange(RESTORATION, "+", "-", count=1))
        newest = _parse(RESTORATION, last[0]).place if last else (0, 0)
        later = [entry for entry in entries if entry.place > newest]
        places = ((stream, entry.id, entry.id) for entry in later for stream in STREAMS)
        matches = chunked(await self._connection.send_all(purpose, "xrange", places), len(STREAMS))
        missing = [
            (RESTORATION, {"entry": entry.call.model_dump_json(exclude_none=True)}, entry.id)
            for entry, matches_of_entry in zip(later, matches, strict=True)
            if not any(matches_of_entry)
        ]
        await self._connection.send_all(purpose, "xadd", missing)
        return len(missing)

    async def _merge(
        self, start: str, end: str, backwards: bool = False, pending: Sequence[Entry] = ()
    ) -> AsyncIterator[Entry]:
        """Yield entries of all streams in the order of time: restored ones may be the younger ones."""
        streams = [self._pages(name, start, end, backwards) for name in (*STREAMS, RESTORATION)]
        streams.append(_iterate(pending))
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
            if backwards:
                command = self._redis.xrevrange(stream, end, start, count=PAGE)
            else:
                command = self._redis.xrange(stream, start, end, count=PAGE)
            page = await self._connection.send("read its audit", command)
            for entry in map(partial(_parse, stream), page):
                yield entry
                beyond = f"({entry.id}"
                start, end = (start, beyond) if backwards else (beyond, end)


async def _iterate(entries: Sequence[Entry]) -> AsyncGenerator[Entry]:
    for entry in entries:
        yield entry


def _parse_id(id: str) -> tuple[int, int]:
    milliseconds, _, number = id.partition("-")
    return int(milliseconds), int(number)


def _parse(stream: str, raw: Any) -> Entry:
    return Entry(raw[0].decode(), Call.model_validate_json(raw[1][b"entry"]), stream == RESTORATION)


def _first_id(time: float | None, default: str) -> str:
    return default if time is None else str(int(1e3 * time))
