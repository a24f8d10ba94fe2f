"""Tags: names that people give to versions, to find them again, `before-the-move` rather than 4711.

A tag may be moved and deleted, and does not change its version.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from service.errors import NotFound
from service.ledger import keys
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
        tags = await self._connection.send("list its tags", self._redis.hgetall(keys.TAGS))
        return sorted(map(Tag.model_validate_json, tags.values()), key=lambda tag: (-tag.version, tag.name))

    async def put(self, tag: Tag) -> None:
        await self._connection.send(
            "tag a version", self._redis.hset(keys.TAGS, tag.name, tag.model_dump_json())
        )

    async def remove(self, name: str) -> Tag:
        data, _ = await self._connection.send(
            "take a tag away",
            self._redis.pipeline(transaction=True).hget(keys.TAGS, name).hdel(keys.TAGS, name).execute(),
        )
        if data is None:
            raise NotFound(f"there is no tag {name!r}: `errata tags` lists those there are", tag=name)
        return Tag.model_validate_json(data)

    async def restore(self, tag: Tag) -> bool:
        """Put back the tag of a backup, or return False if a tag of this name exists, which then stays."""
        return bool(
            await self._connection.send(
                "put a tag back", self._redis.hsetnx(keys.TAGS, tag.name, tag.model_dump_json())
            )
        )
