"""Manifests: the blocks of every memory at some versions, so that a start need not read ten thousand commits.

A manifest is derived from commits and adds nothing to them. It names blocks by digest and carries the
checksum of the whole, which is checked when it is read.

Blocks in Redis, named by their digests: written once, read many at a time, and always checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from more_itertools import chunked
from pydantic import TypeAdapter

from models.blocks import Block, BlockError, Image, checksum
from models.versioned_blocks import KnownBlocks
from service.errors import LedgerCorrupt
from service.ledger import keys
from service.ledger.commit import Entry, canonical
from service.ledger.connection import Connection

N_NEWEST = 4


@dataclass(frozen=True)
class Manifest:
    base: str
    checksum: str
    blocks: tuple[Entry, ...]

    @staticmethod
    def of(image: Image) -> Manifest:
        entries = tuple((block.key, block.order, block.digest) for block in image.ordered_blocks)
        return Manifest(image.base, image.checksum, entries)

    @property
    def is_intact(self) -> bool:
        return self.checksum == checksum(self.base, (digest for _, _, digest in self.blocks))


_FILE = TypeAdapter(dict[str, dict[str, Manifest]])


def encode(images: Mapping[str, Image]) -> bytes:
    return canonical(
        _FILE.dump_python(
            {"memory": {memory: Manifest.of(image) for memory, image in images.items()}}, mode="json"
        )
    )


def decode(data: bytes | None, version: int) -> dict[str, Manifest]:
    try:
        manifests = _FILE.validate_json(data or b"")["memory"]
        intact = all(manifest.is_intact for manifest in manifests.values())
    except (ValueError, KeyError, TypeError) as error:
        raise damage(version) from error
    if not intact:
        raise damage(version)
    return manifests


def surplus(versions: Sequence[int]) -> list[int]:
    """Return the manifests to delete, so that the rest bound both the time of a start and their own size.

    The newest few stay. An older one stays if the gap would otherwise more than double its distance from the newest.
    Each lists every row of its version, so all together would grow with the square of the commits.
    """
    newest_first = sorted(versions, reverse=True)
    newest, stays = newest_first[0], newest_first[N_NEWEST - 1 : N_NEWEST]
    deletes = []
    for version, older in pairwise(newest_first[N_NEWEST:]):
        if newest - older <= 2 * (newest - stays[-1]):
            deletes.append(version)
        else:
            stays.append(version)
    return deletes


def damage(version: int) -> LedgerCorrupt:
    advice = f"it is derived from the commits: drop it with `ZREM {keys.MANIFESTS} {version}` and start again"
    return LedgerCorrupt(f"the manifest of version {version} cannot be used; {advice}", version=version)


BLOCKS_PER_CALL = 256


async def store(connection: Connection, blocks: Iterable[Block]) -> None:
    """Write the blocks that Redis lacks. Equal content has an equal name, so writing twice is harmless."""
    for batch in chunked(blocks, BLOCKS_PER_CALL):
        async with connection.call("look for rows"):
            pipeline = connection.commands.pipeline(transaction=False)
            for block in batch:
                pipeline.exists(keys.block(block.digest))
            exist = await pipeline.execute()
        async with connection.call("store rows"):
            pipeline = connection.commands.pipeline(transaction=False)
            for block, exists in zip(batch, exist, strict=True):
                if not exists:
                    pipeline.set(keys.block(block.digest), block.encoded)
            await pipeline.execute()


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
    async with connection.call("read rows"):
        contents = await connection.commands.mget(names)
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
    advice = "restore the data of Redis from a backup that is older than the damage"
    return LedgerCorrupt(f"rows {key!r} ({digest}) cannot be used: {reason}; {advice}", block=digest)
