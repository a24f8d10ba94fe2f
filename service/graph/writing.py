"""The rows of an import into Redis, before the commit that names them; and out of it again when none does.

What is being written is noted first, so that an import that was killed is swept away by the next start.
"""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections.abc import AsyncIterator, Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from models.graph.blocks import Manifest
from service.graph import keys
from service.graph.bucketing import Bucketing, Written
from service.ledger.connection import Connection

log = logging.getLogger(__name__)

AT_A_TIME = 256  # keys in one pipeline
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
    def decoded(data: bytes) -> Noted:
        buckets, names, more = json.loads(data)
        return Noted(buckets, names, dict(more))


class Imports:
    """The rows of imports in Redis, as they come and go."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def write(
        self, bucketing: Bucketing, relations: dict[str, str], progress: Callable[[int], None]
    ) -> Manifest:
        """progress: told how many triples are written. LedgerUnavailable; then `drop` what is there."""
        noted = Noted(bucketing.buckets)
        chunks: list[str] = []
        name_digests: list[str] = []
        waiting: list[tuple[str, str]] = []
        triples = entities = 0
        await self._note(bucketing.source, noted)
        async for some in _in_thread(bucketing):
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

    async def settle(self, source: str) -> None:
        """A commit names it: it stays."""
        async with self._connection.bounded("settle an import"):
            await self._connection.commands.hdel(keys.IMPORTS, source)

    async def drop(self, source: str) -> None:
        """Leave nothing of an import that no commit names."""
        async with self._connection.bounded("look for an import"):
            data = await self._connection.commands.hget(keys.IMPORTS, source)
        if data is None:
            return
        names = list(Noted.decoded(data).keys(source))
        for start in range(0, len(names), AT_A_TIME):
            async with self._connection.bounded("drop an import"):
                await self._connection.commands.unlink(*names[start : start + AT_A_TIME])
        await self.settle(source)

    async def noted(self) -> list[str]:
        """The imports that are being written, or were and were not settled."""
        async with self._connection.bounded("list the imports"):
            found = await self._connection.commands.hkeys(keys.IMPORTS)
        return [name.decode() for name in found]

    async def sweep(self, left: Iterable[str], committed: Container[str]) -> None:
        """Drop what killed imports left behind. left: noted before the ledger was read that `committed` is of."""
        dropped = 0
        for source in left:
            await (self.settle(source) if source in committed else self.drop(source))
            dropped += source not in committed
        if dropped:
            log.warning("dropped what %d unfinished imports had left", dropped)

    async def _note(self, source: str, noted: Noted) -> None:
        async with self._connection.bounded("note an import"):
            await self._connection.commands.hset(keys.IMPORTS, source, noted.encoded())

    async def _store(self, pieces: Sequence[tuple[str, bytes]]) -> None:
        for start in range(0, len(pieces), AT_A_TIME):
            async with self._connection.bounded("store the graph"):
                pipeline = self._connection.commands.pipeline(transaction=False)
                for key, data in pieces[start : start + AT_A_TIME]:
                    pipeline.set(key, data)
                await pipeline.execute()


async def _in_thread(bucketing: Bucketing) -> AsyncIterator[Written]:
    """The work of a processor, away from the event loop."""
    written = bucketing.written()
    while (some := await asyncio.to_thread(next, written, None)) is not None:
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
