"""Writes the rows of an import into Redis, before the commit that names them, and drops them if no commit does.

A note of the rows is written first, so that those of a killed import are dropped before the next one. The commit
deletes the note in the same step, so a failure at any moment leaves all rows that a commit names.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

from more_itertools import chunked, constrained_batches

from models.graph.blocks import Manifest
from service.concurrency import iterate_in_thread
from service.errors import LedgerCorrupt, NotReady
from service.graph import layout, redis_keys
from service.graph.imports.bucket_builder import BucketBuilder, chunk
from service.graph.rows import read
from service.ledger import keys as ledger_keys
from service.ledger.connection import Connection, load_script

log = logging.getLogger(__name__)

KEYS_PER_BATCH, BYTES_PER_BATCH = 256, 4_000_000  # limits of one pipeline
NAMES_PER_KEY = 10_000


@dataclass
class ImportNote:
    """The most keys that an import can have in Redis: buckets, further parts of each bucket, and lists of names."""

    buckets: int
    names: int = 0
    parts: dict[int, int] = field(default_factory=dict)

    def keys(self, source: str) -> Iterator[str]:
        for bucket in range(self.buckets):
            yield redis_keys.bucket(source, bucket)
        for bucket, count in self.parts.items():
            yield from (redis_keys.bucket(source, bucket, part) for part in range(1, count + 1))
        yield from (redis_keys.names(source, number) for number in range(self.names))

    def encode(self) -> str:
        return json.dumps([self.buckets, self.names, list(self.parts.items())])

    @staticmethod
    def decode(data: bytes) -> ImportNote:
        buckets, names, parts = json.loads(data)
        return ImportNote(buckets, names, dict(parts))

    @staticmethod
    def of(import_keys: Iterable[str]) -> ImportNote:
        note = ImportNote(0)
        for key in import_keys:
            numbers = redis_keys.numbers(key)
            if redis_keys.is_names(key):
                note.names = max(note.names, numbers[0] + 1)
            elif len(numbers) == 1:
                note.buckets = max(note.buckets, numbers[0] + 1)
            else:
                note.parts[numbers[0]] = max(note.parts.get(numbers[0], 0), numbers[1])
        return note


class ImportStore:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._note_import = connection.commands.register_script(load_script("note_import"))
        self._claim_import = connection.commands.register_script(load_script("claim_import"))

    async def write(
        self, builder: BucketBuilder, relations: dict[str, str], progress: Callable[[int], None]
    ) -> Manifest:
        """Write the buckets that the builder yields.

        Args:
            progress: Receives the number of triples written so far.

        Raises:
            LedgerUnavailable: Not all rows are written; `drop` the import.
        """
        source, note = builder.source, ImportNote(2 * builder.buckets)
        chunk_digests: list[str] = []
        name_digests: list[str] = []
        pending_names: list[tuple[str, str]] = []
        triples = entities = 0

        async def store_all(contents: list[tuple[str, bytes]], is_last: bool) -> None:
            """Store these rows, and as many pending names as fill whole keys; after the last rows all names."""
            n_names = len(pending_names)
            n_whole = n_names if is_last else n_names - n_names % NAMES_PER_KEY
            names = []
            for number, part in enumerate(chunked(pending_names[:n_whole], NAMES_PER_KEY), len(name_digests)):
                text = json.dumps(part, ensure_ascii=False)
                names.append((redis_keys.names(source, number), zlib.compress(text.encode(), 1)))
            del pending_names[:n_whole]
            note.names += len(names)
            await self._note(source, note)
            await self.store([*contents, *names])
            name_digests.extend(_digest([data]) for _, data in names)

        await self._note(source, note, first=True)
        async for batch in iterate_in_thread(builder.build()):
            note.parts |= batch.parts
            pending_names += batch.names
            await store_all(batch.contents, is_last=False)
            chunk_digests.append(_digest(data for _, data in batch.contents))
            triples, entities = triples + batch.triples, entities + batch.entities
            progress(triples)
        await store_all([], is_last=True)
        digests = tuple(chunk_digests), tuple(name_digests)
        return Manifest(source, builder.buckets, *digests, triples, entities, relations, builder.has_names)

    async def find_damage(self, manifest: Manifest) -> str | None:
        """Return a sentence on the rows of an import that differ from its commit; None if none does."""
        for number, digest in enumerate(manifest.chunks):
            first, end = chunk(number, manifest.buckets)
            total = sha256()
            for bucket in range(first, end):
                with suppress(LedgerCorrupt):
                    for data in (await self._read_bucket(manifest.id, bucket)).values():
                        total.update(data or b"")
            if "sha256:" + total.hexdigest() != digest:
                return f"the rows of buckets {first} to {end - 1} of the import {manifest.id} are missing or altered"
        return None

    async def rows(self, manifest: Manifest) -> AsyncIterator[tuple[str, bytes]]:
        """Yield key and content of each row of an import; raise LedgerCorrupt if one is missing."""
        for bucket in range(manifest.all_buckets):
            for row in _check_present(await self._read_bucket(manifest.id, bucket)):
                yield row
        for number in range(len(manifest.names)):
            for row in _check_present(await read(self._connection, [redis_keys.names(manifest.id, number)])):
                yield row

    async def announce(self, source: str, import_keys: Iterable[str]) -> None:
        """Note the keys of an import's rows, which `store` then writes, until its commit is made."""
        await self._note(source, ImportNote.of(import_keys), first=True)

    async def store(self, contents: Sequence[tuple[str, bytes]]) -> None:
        """Write keys with their contents, as many at once as a pipeline carries within its time limit."""
        batches = constrained_batches(
            contents, BYTES_PER_BATCH, KEYS_PER_BATCH, get_len=lambda row: len(row[1]), strict=False
        )
        for batch in batches:
            await self._connection.send_all("store the graph", "set", batch)

    async def drop(self, source: str) -> bool:
        """Delete the rows of an import and return True, or return False if a commit names them."""
        data = await self._connection.send(
            "claim an import as dead",
            self._claim_import(keys=[ledger_keys.IMPORTS, ledger_keys.DROPPING], args=[source]),
        )
        if data is None:
            return False
        for batch in chunked(ImportNote.decode(data).keys(source), KEYS_PER_BATCH):
            await self._connection.send("drop an import", self._connection.commands.unlink(*batch))
        await self._connection.send(
            "forget an import", self._connection.commands.hdel(ledger_keys.DROPPING, source)
        )
        return True

    async def sweep(self, running: Container[str]) -> None:
        """Drop the rows of killed imports, but not those of imports `running` in this editor."""
        sources: list[str] = []
        for key in (ledger_keys.IMPORTS, ledger_keys.DROPPING):
            names = await self._connection.send("list the imports", self._connection.commands.hkeys(key))
            sources += map(bytes.decode, names)
        n_dropped = sum([await self.drop(source) for source in sources if source not in running])
        if n_dropped:
            log.warning("dropped the rows of %d unfinished imports", n_dropped)

    async def _read_bucket(self, source: str, bucket: int) -> Mapping[str, bytes | None]:
        """Read a bucket and its further parts, in the order of writing; raise LedgerCorrupt if it is damaged."""
        key = redis_keys.bucket(source, bucket)
        content = await read(self._connection, [key])
        ends = [start + count for start, count in layout.decode(key, content[key]).parts.values()]
        further = [redis_keys.bucket(source, bucket, part) for part in range(1, max(ends, default=1))]
        return await read(self._connection, further) | content

    async def _note(self, source: str, note: ImportNote, first: bool = False) -> None:
        """Write the note of an import; raise NotReady if another editor claimed the import as dead."""
        args = [source, note.encode(), "first" if first else ""]
        if not await self._connection.send(
            "note an import", self._note_import(keys=[ledger_keys.IMPORTS], args=args)
        ):
            raise NotReady("another editor claimed this import as dead: nothing was imported; send it again")


def _check_present(rows: Mapping[str, bytes | None]) -> Iterator[tuple[str, bytes]]:
    for key, data in rows.items():
        if data is None:
            raise LedgerCorrupt(
                f"the graph's row {key} is missing; restore the data of Redis from a backup", row=key
            )
        yield key, data


def _digest(contents: Iterable[bytes]) -> str:
    total = sha256()
    for data in contents:
        total.update(data)
    return "sha256:" + total.hexdigest()
