"""A backup back into an empty ledger, bit for bit: checked whole before anything is written, commits last.

What stops in the middle is gone on with by giving the same backup again: what is there already is left as it is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from errata.wire import RestoreReceipt
from pydantic import ValidationError

from models.graph.blocks import IMPORT, manifest_in
from models.memory import Block, BlockError
from service.access.audit import Audit, Call, Entry
from service.access.issued import IssuedKey
from service.access.register import Register
from service.backup import archive, layout
from service.backup.imported import Imported
from service.backup.layout import About
from service.errors import InvalidInput, LedgerCorrupt, LedgerNotEmpty, NotReady
from service.graph.writing import Imports
from service.ledger import rows
from service.ledger.commit import Commit
from service.ledger.kept import Needed, Retention
from service.ledger.store import RedisLedger
from service.ledger.tags import Tag, Tags


@dataclass(frozen=True)
class Restoring:
    """checkpoints: memory -> what its rows lie on in this service."""

    ledger: RedisLedger
    register: Register
    audit: Audit
    checkpoints: Mapping[str, str]

    async def run(self, file: BinaryIO) -> RestoreReceipt:
        """InvalidInput, Conflict: nothing was written. LedgerUnavailable: give it again to go on."""
        about, there = await asyncio.to_thread(_checked, file)
        self._check_checkpoints(about)
        done = await self._common(about, file)
        await self._begin(about, done)
        await self._rows(file, there)
        calls = await self._calls(file)
        names = await self._keys(file)
        tags = await self._tags(file)
        commits = 0
        for commit in _commits(file):
            if commit.version > done:
                await self.ledger.append(commit)
                commits += 1
        return RestoreReceipt(version=about.version, commits=commits, tags=tags, keys=names, audit=calls)

    def _check_checkpoints(self, about: About) -> None:
        for memory, checkpoint in about.checkpoints.items():
            ours = self.checkpoints.get(memory)
            if ours is not None and ours != checkpoint:
                said = f"the rows of {memory} in this backup lie on the checkpoint {checkpoint}"
                raise InvalidInput(f"{said}, and this service runs {ours}: restore it where that one runs")

    async def _common(self, about: About, file: BinaryIO) -> int:
        """How many of the backup's commits the ledger has already. Conflict when it has others."""
        version, digest = await self.ledger.end()
        if version == 0:
            return 0
        ours = next((one.digest for one in _commits(file) if one.version == version), None)
        if ours != digest:
            detail = f"the ledger is at version {version} already, with other commits than this backup's"
            advice = "restore into an empty one, that is with an empty --var or Redis"
            raise LedgerNotEmpty(f"{detail}: {advice}", version=version)
        return version

    async def _begin(self, about: About, common: int) -> None:
        """From here on nothing is dropped until all commits are there."""
        retention = Retention(self.ledger.connection)
        before = await retention.kept()
        if not await retention.change(before, before.with_restored(about.kept, common, about.version)):
            raise NotReady("old versions are being dropped: give the backup again")

    async def _rows(self, file: BinaryIO, there: Mapping[str, Sequence[str]]) -> None:
        imports = Imports(self.ledger.connection)
        for source, names in there.items():
            await imports.announce(source, names)
        for some in rows.chunks(_blocks(file)):
            await rows.store(self.ledger.connection, some)
        for pieces in rows.chunks(_pieces(file)):
            await imports.put(pieces)

    async def _keys(self, file: BinaryIO) -> int:
        found = [IssuedKey.model_validate_json(line) for line in _lines(file, layout.KEYS)]
        return sum([await self.register.restore(key) for key in found])

    async def _tags(self, file: BinaryIO) -> int:
        tags = Tags(self.ledger.connection)
        return sum([await tags.restore(Tag.decode(line)) for line in _lines(file, layout.TAGS)])

    async def _calls(self, file: BinaryIO) -> int:
        count = 0
        for some in rows.chunks(_lines(file, layout.AUDIT)):
            entries = [Entry(id, Call.model_validate(call)) for id, call in map(json.loads, some)]
            await self.audit.restore(entries)
            count += len(entries)
        return count


def _checked(file: BinaryIO) -> tuple[About, Mapping[str, Sequence[str]]]:
    """What it is of, and by import the keys of its rows. InvalidInput unless all of it fits together."""
    archive.check(file)
    about = _about(file)
    named = _chained(about, file)
    imported, found = Imported(), set[str]()
    for name, data in archive.members(file):
        if name.startswith(layout.BLOCKS):
            block = _block(name, data)
            found.add(block.digest)
            if block.kind == IMPORT:
                imported.manifest(manifest_in(block))
        elif layout.PIECE.fullmatch(name):
            imported.row(layout.key_of(name), data)
    if named - found or imported.damaged():
        raise InvalidInput("this backup lacks rows that its commits name: make it again")
    return about, imported.keys


def _about(file: BinaryIO) -> About:
    name, data = next(archive.members(file))
    try:
        about = About.model_validate_json(data)
    except ValidationError as error:
        raise InvalidInput(f"this is no backup of Errata: it begins with {name!r}") from error
    if about.oldest > max(1, about.version):
        raise InvalidInput(f"this backup names version {about.oldest} and ends before it: make it again")
    if about.format > layout.FORMAT:
        raise InvalidInput(f"this backup has format {about.format}: restore it with a newer Errata")
    return about


def _chained(about: About, file: BinaryIO) -> set[str]:
    """The digests of all rows that it has to have."""
    needed = Needed(about.kept)
    version, digest = 0, ""
    for commit in _commits(file):
        if commit.version != version + 1 or commit.previous != digest:
            raise InvalidInput(
                f"version {commit.version} of this backup does not follow on version {version}"
            )
        version, digest = commit.version, commit.digest
        needed.add(commit)
    if (version, digest) != (about.version, about.digest):
        raise InvalidInput(f"this backup ends with version {version}, not {about.version}: make it again")
    return needed.digests


def _commits(file: BinaryIO) -> Iterator[Commit]:
    try:
        for line in _lines(file, layout.LOG):
            yield Commit.decode(line)
    except LedgerCorrupt as error:
        raise InvalidInput(f"a commit of this backup cannot be read: {error.detail}") from error


def _lines(file: BinaryIO, prefix: str) -> Iterator[bytes]:
    for name, data in archive.members(file):
        if name.startswith(prefix):
            yield from data.splitlines()


def _blocks(file: BinaryIO) -> Iterator[Block]:
    return (_block(name, data) for name, data in archive.members(file) if name.startswith(layout.BLOCKS))


def _pieces(file: BinaryIO) -> Iterable[tuple[str, bytes]]:
    return (
        (layout.key_of(name), data) for name, data in archive.members(file) if layout.PIECE.fullmatch(name)
    )


def _block(name: str, data: bytes) -> Block:
    try:
        return Block.decode(data, key=name, order=0, digest="sha256:" + name.removeprefix(layout.BLOCKS))
    except (BlockError, ValueError, KeyError) as error:
        raise InvalidInput(f"{name} of this backup is not what was written: make it again") from error
