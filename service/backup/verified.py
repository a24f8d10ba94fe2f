"""A whole backup, read once, whose parts are checked to fit together before any of it is written to Redis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import starmap
from typing import Any, BinaryIO

from more_itertools import chunked, consume
from pydantic import ValidationError
from pydantic_core import from_json

from models.blocks import Block, BlockError
from models.graph.blocks import IMPORT, Manifest, read_manifest
from service.access.api_keys import ApiKey
from service.access.audit.audit import Entry
from service.access.audit.calls import Call
from service.backup.archive import Archive
from service.backup.members import (
    AUDIT,
    BLOCKS,
    FORMAT,
    IMPORT_ROW,
    KEYS,
    LOG,
    REPORTS,
    REVIEWS,
    TAGS,
    About,
    key_of,
)
from service.curation.reviews import Review
from service.errors import InvalidInput, LedgerCorrupt
from service.graph import redis_keys
from service.graph.imports.bucket_builder import chunk_of
from service.ledger import block_store
from service.ledger.commit import Commit
from service.ledger.reports import StoredReport
from service.ledger.tags import Tag

LACKS_ROWS = "this backup lacks rows that its commits name: make it again"


def _read_call(line: bytes) -> Entry:
    id, call = from_json(line)  # json.loads knows no end of nesting but Python's own
    entry = Entry(id, Call.model_validate(call))
    if entry.place == (0, 0):
        raise ValueError(f"{id!r} is no id of an entry")
    return entry


# What a line of these members says, by the beginning of their names
PARSERS: Mapping[str, Callable[[bytes], Any]] = {
    KEYS: ApiKey.model_validate_json,
    TAGS: Tag.model_validate_json,
    REPORTS: StoredReport.model_validate_json,
    REVIEWS: Review.model_validate_json,
    AUDIT: _read_call,
}


@dataclass(frozen=True)
class VerifiedBackup:
    archive: Archive  # the file
    about: About  # its description
    digests: Sequence[str]  # digests of its commits, from the first
    import_versions: Mapping[str, int]  # import -> the version that made it
    import_keys: Mapping[str, Sequence[str]]  # import -> the keys of its rows

    @staticmethod
    def open(file: BinaryIO) -> VerifiedBackup:
        """Open a backup and check all of it; raise InvalidInput for parts that do not fit."""
        archive = Archive.open(file)
        name, data = next(archive.members(), ("nothing", b""))
        try:
            about = About.model_validate_json(data)
        except ValidationError as error:
            raise InvalidInput(f"this is no backup of Errata: it begins with {name!r}") from error
        if about.format > FORMAT:
            raise InvalidInput(f"this backup has format {about.format}: restore it with a newer Errata")
        digests = [""]
        row_digests: set[str] = set()
        import_versions: dict[str, int] = {}
        for line in (line for _, data in archive.members(LOG) for line in data.splitlines()):
            try:
                entry = Commit.decode(line)
            except LedgerCorrupt as error:
                raise InvalidInput(f"a commit of this backup cannot be read: {error.detail}") from error
            if entry.version != len(digests) or entry.previous != digests[-1]:
                raise InvalidInput(
                    f"version {entry.version} of this backup does not follow version {len(digests) - 1}"
                )
            digests.append(entry.digest)
            row_digests.update(digest for _, _, digest in entry.entries())
            import_versions |= {edit.id: entry.version for edit in entry.edits if edit.method == IMPORT}
        if (len(digests) - 1, digests[-1]) != (about.version, about.digest):
            raise InvalidInput(
                f"this backup ends with version {len(digests) - 1}, not {about.version}: make it again"
            )
        backup = VerifiedBackup(
            archive, about, digests[1:], import_versions, _verify_rows(archive, row_digests)
        )
        for prefix in PARSERS:
            consume(backup.lines(prefix))
        return backup

    def commits(self) -> Iterator[list[Commit]]:
        """Yield the commits of one member at a time."""
        for _, data in self.archive.members(LOG):
            yield [Commit.decode(line) for line in data.splitlines()]

    def blocks(self) -> Iterator[list[Block]]:
        return chunked(starmap(_read_block, self.archive.members(BLOCKS)), block_store.BLOCKS_PER_CALL)

    def import_rows(self, imports: Container[str]) -> Iterator[list[tuple[str, bytes]]]:
        """Yield key and content of the rows of these imports, in batches."""
        import_rows = (
            (key, data)
            for name, data in self.archive.members()
            if IMPORT_ROW.fullmatch(name) and redis_keys.source_of(key := key_of(name)) in imports
        )
        return chunked(import_rows, block_store.BLOCKS_PER_CALL)

    def lines(self, prefix: str) -> Iterator[list[Any]]:
        """Yield what the lines of a kind of members say, one of PARSERS, a member at a time."""
        for name, data in self.archive.members(prefix):
            try:
                yield [PARSERS[prefix](line) for line in data.splitlines()]
            except (ValueError, TypeError, KeyError) as error:
                raise InvalidInput(f"{name} of this backup cannot be read: make it again") from error


def _read_block(name: str, data: bytes) -> Block:
    try:
        return Block.decode(data, key=name, order=0, digest="sha256:" + name.removeprefix(BLOCKS))
    except (BlockError, ValueError, KeyError) as error:
        raise InvalidInput(f"{name} of this backup was altered: make it again") from error


def _read_manifest(block: Block) -> Manifest:
    try:
        return read_manifest(block)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidInput(f"rows {block.digest} of this backup are no import: make it again") from error


def _verify_rows(archive: Archive, digests: set[str]) -> Mapping[str, Sequence[str]]:
    """Return the keys of the rows of each import.

    The manifest of an import stands before its rows. Rows without a manifest are not checked: no commit names them.

    Args:
        digests: Digests of all blocks that the commits name.
    """
    manifests: dict[str, Manifest] = {}
    import_keys: dict[str, list[str]] = defaultdict(list)
    chunks: dict[tuple[str, int], Any] = defaultdict(sha256)  # import, number of the chunk -> its rows
    names: dict[tuple[str, int], str] = {}
    for member, data in archive.members():
        if member.startswith(BLOCKS):
            block = _read_block(member, data)
            digests.discard(block.digest)
            if block.kind == IMPORT:
                manifest = _read_manifest(block)
                manifests[manifest.id] = manifest
        elif IMPORT_ROW.fullmatch(member):
            key = key_of(member)
            source, numbers = redis_keys.source_of(key), redis_keys.numbers(key)
            import_keys[source].append(key)
            if redis_keys.is_names(key):
                names[source, numbers[0]] = "sha256:" + sha256(data).hexdigest()
            elif source in manifests:
                chunks[source, chunk_of(numbers[0], manifests[source].buckets)].update(data)
    for source, manifest in manifests.items():
        sums = tuple("sha256:" + chunks[source, n].hexdigest() for n in range(len(manifest.chunks)))
        name_sums = tuple(names.get((source, n), "") for n in range(len(manifest.names)))
        if (sums, name_sums) != (manifest.chunks, manifest.names):
            raise InvalidInput(LACKS_ROWS)
    if digests:
        raise InvalidInput(LACKS_ROWS)
    return import_keys
