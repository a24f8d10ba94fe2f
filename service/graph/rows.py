"""The rows of imports, read from Redis by one command for all entities of a batch, through a cache.

Rows never change, so a cached row is right for every version; the view knows which imports are active.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from cachetools import LRUCache
from more_itertools import chunked

from models.graph.blocks import Manifest
from models.graph.statement import Statement
from service.errors import ErrataError, LedgerCorrupt
from service.graph import layout, redis_keys
from service.graph.layout import Bucket
from service.ledger.connection import Connection

IN_EDGES = "@in/"  # prefix of an entity's id that asks for the facts that lead to the entity
MAX_CACHED = 500_000  # statements in the cache, about a hundred megabytes
KEYS_PER_READ = 512  # keys of one command, some megabytes

RowKey: TypeAlias = tuple[str, str]  # ids of the import and of the entity
Statements: TypeAlias = tuple[Statement, ...]


class Row(NamedTuple):
    """What the bucket of an entity holds of it."""

    statements: Statements = ()
    # Numbers of the further parts of the bucket, which have the statements that had no room in it
    parts: range = range(0)

    @property
    def has_more(self) -> bool:
        return bool(self.parts)


class Rows:
    """Rows of imports, cached; `hits` and `misses` count since the start."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Statements of an import about an entity; none if it says nothing of it
        self._cache: LRUCache[RowKey, Row] = LRUCache(
            MAX_CACHED, getsizeof=lambda row: 1 + len(row.statements)
        )
        self.hits = self.misses = 0

    async def statements(
        self, requests: Iterable[tuple[Manifest, str]], unavailable: ErrataError | None = None
    ) -> dict[RowKey, Row]:
        """Return each import's first statements about each entity, those that its bucket holds.

        Args:
            requests: Imports and ids of entities; IN_EDGES before an id asks for the facts that lead to the entity.
            unavailable: The error to raise for rows that are not cached, instead of reading them from Redis.

        Raises:
            LedgerCorrupt: A bucket is missing or altered.
        """
        rows: dict[RowKey, Row] = {}
        missing: dict[RowKey, Manifest] = {}
        for manifest, entity in requests:
            key = manifest.id, entity
            row = self._cache.get(key)
            if row is None:
                missing[key] = manifest
            else:
                rows[key] = row
        if missing and unavailable is not None:
            raise unavailable
        self.hits += len(rows)
        self.misses += len(missing)
        return rows | await self._read_rows(missing) if missing else rows

    async def all_statements(self, manifest: Manifest, entity: str) -> Statements:
        """Return all statements of an import about an entity, those too that had no room in its bucket."""
        row = (await self.statements([(manifest, entity)]))[manifest.id, entity]
        if not row.has_more:
            return row.statements
        bucket = layout.bucket_of(entity, manifest.buckets)
        parts = await read(
            self._connection, [redis_keys.bucket(manifest.id, bucket, part) for part in row.parts]
        )

        def decode() -> Statements:
            raw = (layout.decode(key, data).statements[entity] for key, data in parts.items())
            return (*row.statements, *(statement for part in raw for statement in layout.to_statements(part)))

        return await asyncio.to_thread(decode)

    async def names(self, manifest: Manifest) -> AsyncIterator[list[tuple[str, str]]]:
        """Yield the names that an import gives, with their entities, some thousands at a time.

        Raises:
            LedgerCorrupt: A list of names is missing or altered.
        """
        for number, digest in enumerate(manifest.names):
            key = redis_keys.names(manifest.id, number)
            data = (await read(self._connection, [key]))[key]
            if data is None or "sha256:" + sha256(data).hexdigest() != digest:
                raise layout.damage(key, "is missing" if data is None else "was altered")
            pairs = await asyncio.to_thread(lambda data: json.loads(zlib.decompress(data)), data)
            yield [(name, entity) for name, entity in pairs]

    async def _read_rows(self, missing: Mapping[RowKey, Manifest]) -> dict[RowKey, Row]:
        rows: dict[RowKey, Row] = {
            row: Row() for row, m in missing.items() if row[1].startswith(IN_EDGES) and not m.has_in_edges
        }
        bucket_keys = {
            row: _bucket_key(manifest, row[1]) for row, manifest in missing.items() if row not in rows
        }
        contents = await read(self._connection, sorted(set(bucket_keys.values())))
        buckets: dict[str, Bucket] = {}
        damage: LedgerCorrupt | None = None
        for row, key in bucket_keys.items():
            try:
                if key not in buckets:
                    buckets[key] = layout.decode(key, contents[key])
            except LedgerCorrupt as error:
                damage = error
                continue
            entity = row[1].removeprefix(IN_EDGES)
            start, count = buckets[key].parts.get(entity, (0, 0))
            statements = layout.to_statements(buckets[key].statements.get(entity, ()))
            rows[row] = self._cache[row] = Row(statements, range(start, start + count))
        if damage is not None:  # raised only now, so that the intact rows are cached for other questions
            raise damage
        return rows


def _bucket_key(manifest: Manifest, id: str) -> str:
    if id.startswith(IN_EDGES):
        number = layout.in_edges_bucket_of(id.removeprefix(IN_EDGES), manifest.buckets)
    else:
        number = layout.bucket_of(id, manifest.buckets)
    return redis_keys.bucket(manifest.id, number)


async def read(connection: Connection, redis_keys: Sequence[str]) -> dict[str, bytes | None]:
    """Return key -> content, in this order; None for a key that is missing."""
    contents: dict[str, bytes | None] = {}
    for batch in chunked(redis_keys, KEYS_PER_READ):
        replies = await connection.send("read the graph", connection.commands.mget(batch))
        contents |= zip(batch, replies, strict=True)
    return contents
