"""The rows of imports, out of Redis: one command for all entities of a batch, and each row fetched once.

Rows never change, so what was read once is right for every version; which imports are in force is the view's matter.
"""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

from models.graph.blocks import Manifest
from models.graph.statement import ALIAS, LABEL, Statement
from service.errors import ErrataError, LedgerCorrupt
from service.graph import bucket_codec, keys
from service.ledger.redis.connection import Connection

log = logging.getLogger(__name__)

KEPT = 500_000  # statements in memory, about a hundred megabytes; the least recently read go first
AT_A_TIME = 512  # keys in one command: some megabytes

Wanted: TypeAlias = tuple[Manifest, str]  # of which import, of which entity
Statements: TypeAlias = tuple[Statement, ...]


@dataclass
class Cache:
    """(import, entity) -> what the one says of the other; () where it says nothing."""

    most: int = KEPT
    held: OrderedDict[tuple[str, str], Statements] = field(default_factory=OrderedDict)
    size: int = 0

    def get(self, key: tuple[str, str]) -> Statements | None:
        found = self.held.get(key)
        if found is not None:
            self.held.move_to_end(key)
        return found

    def put(self, key: tuple[str, str], statements: Statements) -> None:
        self.size += 1 + len(statements) - (1 + len(self.held[key]) if key in self.held else 0)
        self.held[key] = statements
        while self.size > self.most:
            self.size -= 1 + len(self.held.popitem(last=False)[1])


class Rows:
    """hits, misses: since the start, for the metrics."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cache = Cache()
        self.hits = self.misses = 0

    async def told(
        self, wanted: Iterable[Wanted], unread: ErrataError | None = None
    ) -> dict[tuple[str, str], Statements]:
        """What each import says of each entity, as far as one piece holds it. LedgerUnavailable, LedgerCorrupt.

        unread: why nothing is to be fetched; raised where something is not at hand.
        """
        found: dict[tuple[str, str], Statements] = {}
        missing: dict[tuple[str, str], Manifest] = {}
        for manifest, entity in wanted:
            key = manifest.id, entity
            held = self._cache.get(key)
            if held is None:
                missing[key] = manifest
            else:
                found[key] = held
        if missing and unread is not None:
            raise unread
        self.hits += len(found)
        self.misses += len(missing)
        return found | await self._fetched(missing) if missing else found

    async def rest(self, manifest: Manifest, entity: str) -> Statements:
        """What had no room in the entity's first piece."""
        bucket = bucket_codec.bucket_of(entity, manifest.buckets)
        first = keys.piece(manifest.id, bucket)
        content = bucket_codec.decode(first, (await self._read([first]))[0])
        start, count = content["more"].get(entity, (0, 0))
        names = [keys.piece(manifest.id, bucket, number) for number in range(start, start + count)]
        pieces = list(zip(names, await self._read(names), strict=True)) if names else []
        return await asyncio.to_thread(_rest, entity, pieces)

    async def _fetched(
        self, missing: Mapping[tuple[str, str], Manifest]
    ) -> dict[tuple[str, str], Statements]:
        place = {
            key: keys.piece(m.id, bucket_codec.bucket_of(key[1], m.buckets)) for key, m in missing.items()
        }
        names = sorted(set(place.values()))
        data = dict(zip(names, await self._read(names), strict=True))
        found: dict[tuple[str, str], Statements] = {}
        damage: LedgerCorrupt | None = None
        content: dict[str, Any] = {}
        for key, name in place.items():
            try:
                content[name] = content.get(name) or bucket_codec.decode(name, data[name])["told"]
            except LedgerCorrupt as error:
                damage = error
                continue
            found[key] = bucket_codec.statements(content[name].get(key[1], ()))
            self._cache.put(key, found[key])
        if damage is not None:  # after what is sound was kept, so that it spoils no other question
            raise damage
        return found

    async def _read(self, names: list[str]) -> list[bytes | None]:
        found: list[bytes | None] = []
        for start in range(0, len(names), AT_A_TIME):
            async with self._connection.call("read the graph"):
                found += await self._connection.commands.mget(names[start : start + AT_A_TIME])
        return found

    async def names(self, manifest: Manifest) -> AsyncIterator[list[tuple[str, str]]]:
        """The names that an import gives, with their entities, some thousands at a time."""
        for number, digest in enumerate(manifest.names):
            key = keys.names(manifest.id, number)
            data = (await self._read([key]))[0]
            if data is None or "sha256:" + sha256(data).hexdigest() != digest:
                log.error("the names %s are missing or altered: they are read out of the rows", key)
                async for some in self._names_in_rows(manifest):
                    yield some
                return
            yield await asyncio.to_thread(_names, data)

    async def _names_in_rows(self, manifest: Manifest) -> AsyncIterator[list[tuple[str, str]]]:
        """The same names, at a higher price. LedgerCorrupt where the rows are damaged, too."""
        places = [keys.piece(manifest.id, bucket) for bucket in range(manifest.buckets)]
        for start in range(0, len(places), AT_A_TIME):
            some = places[start : start + AT_A_TIME]
            pieces = zip(some, await self._read(some), strict=True)
            yield await asyncio.to_thread(
                lambda found: [n for p in found for n in _names_of(*p)], list(pieces)
            )


def _rest(entity: str, pieces: Sequence[tuple[str, bytes | None]]) -> Statements:
    told = (bucket_codec.decode(name, data)["told"][entity] for name, data in pieces)
    return tuple(one for some in told for one in bucket_codec.statements(some))


def _names(data: bytes) -> list[tuple[str, str]]:
    return [(name, entity) for name, entity in json.loads(zlib.decompress(data))]


def _names_of(key: str, data: bytes | None) -> list[tuple[str, str]]:
    told = bucket_codec.decode(key, data)["told"]
    return [(one[1], entity) for entity, said in told.items() for one in said if one[0] in (LABEL, ALIAS)]
