"""Blocks in Redis, named by their digests: written once, read many at a time, and always checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from more_itertools import chunked

from models.blocks import Block, BlockError
from models.versioned_blocks import KnownBlocks
from service.errors import LedgerCorrupt
from service.ledger import keys
from service.ledger.commit import Entry
from service.ledger.connection import Connection

BLOCKS_PER_CALL = 256


async def store(connection: Connection, blocks: Iterable[Block]) -> None:
    """Write the blocks that Redis lacks. Equal content has an equal name, so writing twice is harmless."""
    for batch in chunked(blocks, BLOCKS_PER_CALL):
        names = [(keys.block(block.digest), block.encoded) for block in batch]
        exist = await connection.send_all("look for rows", "exists", ((name,) for name, _ in names))
        missing = (row for row, exists in zip(names, exist, strict=True) if not exists)
        await connection.send_all("store rows", "set", missing)


async def load(connection: Connection, entries: Sequence[Entry], known_blocks: KnownBlocks) -> list[Block]:
    """Load blocks in the order of `entries`; known ones are not read again.

    Raises:
        LedgerCorrupt: A block is missing or altered; the error names the first.
    """
    blocks: list[Block] = []
    for batch in chunked(entries, BLOCKS_PER_CALL):
        shared = known_blocks.find(batch)
        missing = [entry for entry, block in zip(batch, shared, strict=True) if block is None]
        fresh = iter(await _read(connection, missing) if missing else ())
        blocks += [next(fresh) if block is None else block for block in shared]
    return blocks


async def _read(connection: Connection, entries: Sequence[Entry]) -> list[Block]:
    names = [keys.block(digest).encode() for _, _, digest in entries]  # redis-py takes longer over texts
    contents = await connection.send("read rows", connection.commands.mget(names))
    blocks = []
    for entry, data in zip(entries, contents, strict=True):
        key, order, digest = entry
        if data is None:
            raise _damage(entry, "they are missing")
        try:
            blocks.append(Block.decode(data, key=key, order=order, digest=digest))
        except BlockError as error:
            raise _damage(entry, "their bytes are not those that were written") from error
    return blocks


def _damage(entry: Entry, reason: str) -> LedgerCorrupt:
    key, _, digest = entry
    return LedgerCorrupt(
        f"rows {key!r} ({digest}) cannot be used: {reason}; "
        "restore the data of Redis from a backup that is older than the damage",
        block=digest,
    )
