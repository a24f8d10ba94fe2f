"""The rows of an import into Redis, before the commit that names them; and out of it again when none does.

What is being written is noted first, so that an import that was killed is swept away before the next one. The commit
takes the note away in the same step: rows that a commit names are never dropped, whoever fails when.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from models.graph.blocks import Manifest
from service.concurrency import iterate_in_thread
from service.errors import LedgerCorrupt, NotReady
from service.graph import bucket_codec, keys
from service.graph.imports.bucket_builder import BucketBuilder, chunk
from service.ledger import keys as ledger_keys
from service.ledger.lua import load_script
from service.ledger.redis.connection import Connection

log = logging.getLogger(__name__)

AT_A_TIME, BYTES_AT_A_TIME = 256, 4_000_000  # keys in one pipeline, and what they hold
NAMES_A_PIECE = 10_000


@dataclass
class Noted:
    """What an import has in Redis at most."""

    buckets: int
    names: int = 0
    more: dict[int, int] = field(default_factory=dict)

    def keys(self, source: str) -> Iterable[str]:
        for bucket in range(self.buckets):
            yield keys.piece(source, bucket)
        for bucket, count in self.more.items():
            yield from (keys.piece(source, bucket, number) for number in range(1, count + 1))
        yield from (keys.names(source, number) for number in range(self.names))

    def encoded(self) -> str:
        return json.dumps([self.buckets, self.names, list(self.more.items())])

    @staticmethod
    def of(names: Iterable[str]) -> Noted:
        """From the keys that it has."""
        noted = Noted(0)
        for name in names:
            numbers = keys.numbers(name)
            if keys.is_names(name):
                noted.names = max(noted.names, numbers[0] + 1)
            elif len(numbers) == 1:
                noted.buckets = max(noted.buckets, numbers[0] + 1)
            else:
                noted.more[numbers[0]] = max(noted.more.get(numbers[0], 0), numbers[1])
        return noted

    @staticmethod
    def decoded(data: bytes) -> Noted:
        buckets, names, more = json.loads(data)
        return Noted(buckets, names, dict(more))


class ImportStore:
    """The rows of imports in Redis, as they come and go."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._noting = connection.commands.register_script(load_script("note_import"))
        self._take = connection.commands.register_script(load_script("claim_import"))

    async def write(
        self, bucketing: BucketBuilder, relations: dict[str, str], progress: Callable[[int], None]
    ) -> Manifest:
        """progress: told how many triples are written. LedgerUnavailable; then `drop` what is there."""
        noted = Noted(bucketing.buckets)
        chunks: list[str] = []
        name_digests: list[str] = []
        waiting: list[tuple[str, str]] = []
        triples = entities = 0
        await self._note(bucketing.source, noted, first=True)
        async for some in iterate_in_thread(bucketing.written()):
            noted.more |= some.more
            waiting += some.names
            named, waiting = _full(waiting)
            pieces = _name_pieces(bucketing.source, len(name_digests), named)
            noted.names += len(pieces)
            await self._note(bucketing.source, noted)
            await self._store([*some.pieces, *pieces])
            chunks.append(_digest(data for _, data in some.pieces))
            name_digests += [_digest([data]) for _, data in pieces]
            triples, entities = triples + some.triples, entities + some.entities
            progress(triples)
        pieces = _name_pieces(bucketing.source, len(name_digests), waiting)
        noted.names += len(pieces)
        await self._note(bucketing.source, noted)
        await self._store(pieces)
        name_digests += [_digest([data]) for _, data in pieces]
        return Manifest(
            bucketing.source,
            bucketing.buckets,
            tuple(chunks),
            tuple(name_digests),
            triples,
            entities,
            relations,
        )

    async def find_damage(self, manifest: Manifest) -> str | None:
        """Where the rows of an import are not what its commit says, in one sentence; None where all of them are."""
        for number, digest in enumerate(manifest.chunks):
            first, end = chunk(number, manifest.buckets)
            found = sha256()
            for bucket in range(first, end):
                for data in await self._bucket(manifest.id, bucket):
                    found.update(data)
            if "sha256:" + found.hexdigest() != digest:
                return f"the rows of buckets {first} to {end - 1} of the import {manifest.id} are missing or altered"
        return None

    async def _bucket(self, source: str, bucket: int) -> list[bytes]:
        try:
            return [data or b"" for _, data in await self._pieces(source, bucket)]
        except LedgerCorrupt:
            return []

    async def _pieces(self, source: str, bucket: int) -> list[tuple[str, bytes | None]]:
        """Key and content, in the order in which they were written. LedgerCorrupt."""
        own = keys.piece(source, bucket)
        ((_, data),) = await self._read([own])
        more = bucket_codec.decode(own, data)["more"].values()
        names = [keys.piece(source, bucket, n) for n in range(1, max((s + c for s, c in more), default=1))]
        return [*await self._read(names), (own, data)]

    async def _read(self, names: Sequence[str]) -> list[tuple[str, bytes | None]]:
        async with self._connection.call("read the graph"):
            found = await self._connection.commands.mget(names) if names else []
        return list(zip(names, found, strict=True))

    async def rows(self, manifest: Manifest) -> AsyncIterator[tuple[str, bytes]]:
        """Key and content of all that an import has in Redis. LedgerCorrupt when some of it is missing."""
        for bucket in range(manifest.buckets):
            for one in _whole(await self._pieces(manifest.id, bucket)):
                yield one
        for number in range(len(manifest.names)):
            for one in _whole(await self._read([keys.names(manifest.id, number)])):
                yield one

    async def announce(self, source: str, names: Iterable[str]) -> None:
        """Note the keys of an import's rows, which `put` then writes, until its commit is there."""
        await self._note(source, Noted.of(names), first=True)

    async def put(self, pieces: Sequence[tuple[str, bytes]]) -> None:
        """What `rows` gave."""
        await self._store(pieces)

    async def drop(self, source: str) -> bool:
        """Leave nothing of an import that no commit names. False when one names it: then it stays."""
        async with self._connection.call("take an import for dead"):
            data = await self._take(keys=[ledger_keys.IMPORTS, ledger_keys.DROPPING], args=[source])
        if data is None:
            return False
        names = list(Noted.decoded(data).keys(source))
        for start in range(0, len(names), AT_A_TIME):
            async with self._connection.call("drop an import"):
                await self._connection.commands.unlink(*names[start : start + AT_A_TIME])
        async with self._connection.call("forget an import"):
            await self._connection.commands.hdel(ledger_keys.DROPPING, source)
        return True

    async def sweep(self, running: Container[str]) -> None:
        """Drop what killed imports left behind. running: imports of this editor, which are alive."""
        found: list[bytes] = []
        for key in (ledger_keys.IMPORTS, ledger_keys.DROPPING):
            async with self._connection.call("list the imports"):
                found += await self._connection.commands.hkeys(key)
        dropped = [await self.drop(one.decode()) for one in found if one.decode() not in running]
        if any(dropped):
            log.warning("dropped what %d unfinished imports had left", sum(dropped))

    async def _note(self, source: str, noted: Noted, first: bool = False) -> None:
        """NotReady when another editor took the import for dead."""
        async with self._connection.call("note an import"):
            args = [source, noted.encoded(), "first" if first else ""]
            there = await self._noting(keys=[ledger_keys.IMPORTS], args=args)
        if not there:
            raise NotReady("another editor took this import for dead: nothing was imported; send it again")

    async def _store(self, pieces: Sequence[tuple[str, bytes]]) -> None:
        for some in _loads(pieces):
            async with self._connection.call("store the graph"):
                pipeline = self._connection.commands.pipeline(transaction=False)
                for key, data in some:
                    pipeline.set(key, data)
                await pipeline.execute()


def _whole(found: Iterable[tuple[str, bytes | None]]) -> Iterator[tuple[str, bytes]]:
    for key, data in found:
        if data is None:
            raise LedgerCorrupt(
                f"the graph's row {key} is missing; restore the data of Redis from a backup", row=key
            )
        yield key, data


def _loads(pieces: Sequence[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """As many as a pipeline carries within its time."""
    some: list[tuple[str, bytes]] = []
    size = 0
    for one in pieces:
        if some and (len(some) == AT_A_TIME or size + len(one[1]) > BYTES_AT_A_TIME):
            yield some
            some, size = [], 0
        some.append(one)
        size += len(one[1])
    if some:
        yield some


def _full(waiting: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """As many names as make whole pieces, and the others."""
    whole = len(waiting) - len(waiting) % NAMES_A_PIECE
    return waiting[:whole], waiting[whole:]


def _name_pieces(source: str, first: int, names: Sequence[tuple[str, str]]) -> list[tuple[str, bytes]]:
    chunks = [names[start : start + NAMES_A_PIECE] for start in range(0, len(names), NAMES_A_PIECE)]
    return [
        (keys.names(source, number), zlib.compress(json.dumps(chunk, ensure_ascii=False).encode(), 1))
        for number, chunk in enumerate(chunks, first)
    ]


def _digest(pieces: Iterable[bytes]) -> str:
    total = sha256()
    for data in pieces:
        total.update(data)
    return "sha256:" + total.hexdigest()
