"""Blocks in and out of Redis by digest: written once, read many at a time, and never believed unchecked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

from models.memory import Block, BlockError
from service.errors import LedgerCorrupt
from service.ledger import keys
from service.ledger.commit import Entry
from service.ledger.connection import Connection

BLOCKS_PER_CALL = 256
T = TypeVar("T")
Known: TypeAlias = MutableMapping[
    Entry, Block
]  # blocks that are in memory already, and need not be read again


async def store(connection: Connection, blocks: Iterable[Block]) -> None:
    """Write those that are not there. The same content has the same name, so writing twice is harmless."""
    for some in chunks(blocks):
        async with connection.bounded("look for rows"):
            pipeline = connection.commands.pipeline(transaction=False)
            for block in some:
                pipeline.exists(keys.block(block.digest))
            there = await pipeline.execute()
        async with connection.bounded("store rows"):
            pipeline = connection.commands.pipeline(transaction=False)
            for block, found in zip(some, there, strict=True):
                if not found:
                    pipeline.set(keys.block(block.digest), block.encoded)
            await pipeline.execute()


async def load(connection: Connection, entries: Sequence[Entry], known: Known) -> list[Block]:
    """The blocks, in the order asked for. LedgerCorrupt names the first that is missing or altered."""
    blocks: list[Block] = []
    for some in chunks(entries):
        held = {entry: block for entry in some if (block := known.get(entry)) is not None}
        held |= await _fetched(connection, [entry for entry in some if entry not in held])
        known.update(held)
        blocks += [held[entry] for entry in some]
    return blocks


async def _fetched(connection: Connection, entries: Sequence[Entry]) -> dict[Entry, Block]:
    if not entries:
        return {}
    async with connection.bounded("read rows"):
        found = await connection.commands.mget([keys.block(digest) for _, _, digest in entries])
    return {entry: _block(entry, data) for entry, data in zip(entries, found, strict=True)}


def chunks(items: Iterable[T], size: int = BLOCKS_PER_CALL) -> Iterator[list[T]]:
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some


def _block(entry: Entry, data: bytes | None) -> Block:
    key, order, digest = entry
    if data is None:
        raise _damaged(entry, "they are missing")
    try:
        return Block.decode(data, key=key, order=order, digest=digest)
    except BlockError as error:
        raise _damaged(entry, "their bytes are not the ones that were written") from error


def _damaged(entry: Entry, reason: str) -> LedgerCorrupt:
    key, _, digest = entry
    advice = "restore the data of Redis from a backup that is older than the damage"
    return LedgerCorrupt(f"rows {key!r} ({digest}) cannot be used: {reason}; {advice}", block=digest)
