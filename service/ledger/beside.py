"""What lies beside the log and is no part of the history: tags, completed reports, and suspects.

Tags are names that people give to versions, to find them again: `before-the-move` rather than 4711. A tag may be
moved and deleted, and does not change its version.

A commit is written before all of its effects are measured, and is never changed; its completed report is kept here,
compressed. Without an entry the commit's own report is all there is.

Suspects are requests that were in a process when it died, so that none of them ends a third one. A death does not show
which request caused it, so each is sent again with an id. The process that takes it notes the id before each piece of
its work in the thread of the models, where nothing else runs meanwhile, and deletes the note afterwards. A note of
another process is left over from a death during that very work.
"""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import BaseModel

from service.errors import Crashed, LedgerUnavailable, NotFound
from service.ledger import keys
from service.ledger.commit import canonical
from service.ledger.connection import Connection


class Tag(BaseModel, frozen=True):
    """A name of a version, with its author (`by`) and its unix time in seconds."""

    name: str
    version: int
    by: str
    time: float


class Tags:
    """The tags of one ledger. Every call ends within the connection's time limit, or raises LedgerUnavailable."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._redis = connection.commands

    async def all(self) -> Sequence[Tag]:
        async with self._connection.call("list its tags"):
            tags: dict[bytes, bytes] = await self._redis.hgetall(keys.TAGS)
        return sorted(map(Tag.model_validate_json, tags.values()), key=lambda tag: (-tag.version, tag.name))

    async def put(self, tag: Tag) -> None:
        async with self._connection.call("tag a version"):
            await self._redis.hset(keys.TAGS, tag.name, tag.model_dump_json())

    async def remove(self, name: str) -> Tag:
        async with self._connection.call("take a tag away"):
            step = self._redis.pipeline(transaction=True).hget(keys.TAGS, name).hdel(keys.TAGS, name)
            data, _ = await step.execute()
        if data is None:
            raise NotFound(f"there is no tag {name!r}: `errata tags` lists those there are", tag=name)
        return Tag.model_validate_json(data)

    async def restore(self, tag: Tag) -> bool:
        """Put back the tag of a backup, or return False if a tag of this name exists, which then stays."""
        async with self._connection.call("put a tag back"):
            return bool(await self._redis.hsetnx(keys.TAGS, tag.name, tag.model_dump_json()))


class StoredReport(BaseModel, frozen=True):
    version: int
    report: Mapping[str, Any]


class Reports:
    """The completed reports of one ledger. Every call ends within the connection's time limit."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._redis = connection.commands

    async def put(self, report: StoredReport) -> None:
        """Keep a report in place of an earlier one of the version."""
        data = zlib.compress(canonical(report.report), 1)
        async with self._connection.call("keep a report"):
            await self._redis.hset(keys.REPORTS, str(report.version), data)

    async def find(self, *versions: int) -> list[StoredReport]:
        """Return the completed reports of these versions, as far as there are any."""
        async with self._connection.call("look for reports"):
            entries = await self._redis.hmget(keys.REPORTS, list(map(str, versions)))
        return [
            StoredReport(version=version, report=json.loads(zlib.decompress(data)))
            for version, data in zip(versions, entries, strict=True)
            if data is not None
        ]


T = TypeVar("T")
SUSPECT: ContextVar[str] = ContextVar("suspect", default="")  # id of the request that this task works for

log = logging.getLogger(__name__)


class Suspects:
    """The suspects that one process works for.

    Args:
        part: `editor`, or the name of a model.
        remark: What holds for a refused request of this part, or what its sender may do.
        on_refusal: Is called for each request that is refused.
    """

    def __init__(
        self, connection: Connection, part: str, remark: str, on_refusal: Callable[[], object]
    ) -> None:
        self._connection, self._part, self._remark = connection, part, remark
        self._on_refusal = on_refusal
        self._process = uuid4().hex.encode()

    def run(self, loop: asyncio.AbstractEventLoop, id: str, work: Callable[[], T]) -> T:
        """Run a piece of work in this thread, which does nothing else; the id "" stands for no suspect.

        Raises:
            Crashed: Another process died during a piece of work for this suspect.
            LedgerUnavailable: The note cannot be made; nothing was done.
        """
        if not id:
            return work()
        asyncio.run_coroutine_threadsafe(self._begin(id), loop).result()
        try:
            return work()
        finally:
            asyncio.run_coroutine_threadsafe(self._end(id), loop).result()

    async def _begin(self, id: str) -> None:
        async with self._connection.call("note a request that may end this process"):
            process = await self._connection.commands.hget(keys.SUSPECTS, id)
            if process in (None, self._process):
                await self._connection.commands.hset(keys.SUSPECTS, id, self._process)
                return
        await self._end(id)
        self._on_refusal()
        log.error("request %s ended two processes of %s, and is refused", id, self._part)
        detail = f"this request ended two processes of {self._part!r} and is not tried again; {self._remark}"
        report = f"send the maintainers the request itself, the id {id} and the logs (VAR/log)"
        raise Crashed(f"{detail}; {report}", crash_id=id)

    async def _end(self, id: str) -> None:
        """Delete the note. If that fails it stays, which matters only if another process gets the same request."""
        with suppress(LedgerUnavailable):
            async with self._connection.call("delete the note about a request"):
                await self._connection.commands.hdel(keys.SUSPECTS, id)
