"""Tags: names that people give to versions, to find them again: `before-the-move` rather than 4711.

A tag is not part of the history: it may be moved and deleted, and does not change its version.

Reports that were completed after their commits: each version's whole report, beside the log.

A commit is written before all of its effects are measured, and is never changed; its completed report is kept here,
compressed. Without an entry the commit's own report is all there is.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from service.errors import NotFound
from service.ledger import keys
from service.ledger.commit import canonical
from service.ledger.connection import Connection


class Tag(BaseModel):
    """A name of a version, with its author (`by`) and its unix time in seconds."""

    model_config = ConfigDict(frozen=True)

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
        """List all tags, the newest version first."""
        async with self._connection.call("list its tags"):
            tags: dict[bytes, bytes] = await self._redis.hgetall(keys.TAGS)
        return sorted(map(Tag.model_validate_json, tags.values()), key=lambda tag: (-tag.version, tag.name))

    async def put(self, tag: Tag) -> None:
        """Give the version this name, or move the name there."""
        async with self._connection.call("tag a version"):
            await self._redis.hset(keys.TAGS, tag.name, tag.model_dump_json())

    async def remove(self, name: str) -> Tag:
        """Delete and return a tag; raise NotFound if there is none."""
        async with self._connection.call("take a tag away"):
            data = await self._redis.hget(keys.TAGS, name)
            await self._redis.hdel(keys.TAGS, name)
        if data is None:
            raise NotFound(f"there is no tag {name!r}: `errata tags` lists those there are", tag=name)
        return Tag.model_validate_json(data)

    async def restore(self, tag: Tag) -> bool:
        """Put back the tag of a backup, or return False if a tag of this name exists, which then stays."""
        async with self._connection.call("look for a tag"):
            exists = await self._redis.hexists(keys.TAGS, tag.name)
        if not exists:
            await self.put(tag)
        return not exists


class StoredReport(BaseModel):
    """The report of one version, in JSON values."""

    model_config = ConfigDict(frozen=True)

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
