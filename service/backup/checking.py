"""What a backup holds, after all of it was read once and found to fit together. Nothing is written here."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from models.graph.blocks import IMPORT, read_manifest
from models.memory import Block, BlockError
from service.access.api_keys import ApiKey
from service.access.audit import Call, Entry
from service.backup import archive, layout
from service.backup.archive import Archive
from service.backup.imported import Imported
from service.backup.layout import About
from service.errors import InvalidInput, LedgerCorrupt
from service.graph import keys
from service.ledger import commit, rows
from service.ledger.commit import Commit
from service.ledger.tags import Tag

T = TypeVar("T")


@dataclass(frozen=True)
class Checked:
    """digests: of its commits, from the first. made: import -> the version that made it. pieces: import -> its keys."""

    archive: Archive
    about: About
    digests: Sequence[str]
    made: Mapping[str, int]
    pieces: Mapping[str, Sequence[str]]

    @staticmethod
    def of(file: BinaryIO) -> Checked:
        """InvalidInput unless all of it fits together."""
        found = archive.opened(file)
        about = _about(found)
        digests, made, needed = _chained(about, found)
        pieces = _rows(found, needed)
        checked = Checked(found, about, digests, made, pieces)
        for part in (checked.keys, checked.tags, checked.calls):
            for _ in part():
                pass
        return checked

    def commits(self) -> Iterator[list[Commit]]:
        """As many as a member has."""
        for _, data in self.archive.members(layout.LOG):
            yield [*map(Commit.decode, data.splitlines())]

    def blocks(self) -> Iterator[list[Block]]:
        return rows.chunks(_block(*member) for member in self.archive.members(layout.BLOCKS))

    def rows_of(self, imports: Container[str]) -> Iterator[list[tuple[str, bytes]]]:
        """Of these imports: key and content."""
        found = ((layout.key_of(name), data) for name, data in _pieces(self.archive))
        return rows.chunks(one for one in found if keys.source_of(one[0]) in imports)

    def keys(self) -> Iterator[list[ApiKey]]:
        return self._lines(layout.KEYS, ApiKey.model_validate_json)

    def tags(self) -> Iterator[list[Tag]]:
        return self._lines(layout.TAGS, Tag.model_validate_json)

    def calls(self) -> Iterator[list[Entry]]:
        """Of the admin routes, the oldest first."""
        return self._lines(layout.AUDIT, _call)

    def _lines(self, prefix: str, read: Callable[[bytes], T]) -> Iterator[list[T]]:
        for name, data in self.archive.members(prefix):
            try:
                yield [read(line) for line in data.splitlines()]
            except (ValueError, TypeError, KeyError) as error:
                raise InvalidInput(f"{name} of this backup cannot be read: make it again") from error


def _about(found: Archive) -> About:
    name, data = next(found.members(), ("nothing", b""))
    try:
        about = About.model_validate_json(data)
    except ValidationError as error:
        raise InvalidInput(f"this is no backup of Errata: it begins with {name!r}") from error
    if about.format > layout.FORMAT:
        raise InvalidInput(f"this backup has format {about.format}: restore it with a newer Errata")
    return about


def _chained(about: About, found: Archive) -> tuple[Sequence[str], Mapping[str, int], set[str]]:
    """The commits' digests, the imports among them, and the digests of all rows that there have to be."""
    needed, digests = set[str](), [""]
    made: dict[str, int] = {}
    for one in _commits(found):
        if one.version != len(digests) or one.previous != digests[-1]:
            raise InvalidInput(f"version {one.version} of this backup does not follow on {len(digests) - 1}")
        digests.append(one.digest)
        needed.update(digest for _, _, digest in one.entries())
        made |= {edit.id: one.version for edit in one.edits if edit.method == commit.IMPORT}
    if (len(digests) - 1, digests[-1]) != (about.version, about.digest):
        raise InvalidInput(
            f"this backup ends with version {len(digests) - 1}, not {about.version}: make it again"
        )
    return digests[1:], made, needed


def _commits(found: Archive) -> Iterator[Commit]:
    try:
        for line in chain.from_iterable(data.splitlines() for _, data in found.members(layout.LOG)):
            yield Commit.decode(line)
    except LedgerCorrupt as error:
        raise InvalidInput(f"a commit of this backup cannot be read: {error.detail}") from error


def _rows(found: Archive, needed: set[str]) -> Mapping[str, Sequence[str]]:
    """By import the keys of its rows. InvalidInput when rows are missing or altered."""
    imported, there = Imported(), set[str]()
    for name, data in found.members():
        if name.startswith(layout.BLOCKS):
            block = _block(name, data)
            there.add(block.digest)
            if block.kind == IMPORT:
                imported.manifest(read_manifest(block))
        elif layout.PIECE.fullmatch(name):
            imported.row(layout.key_of(name), data)
    if needed - there or imported.damaged():
        raise InvalidInput("this backup lacks rows that its commits name: make it again")
    return imported.keys


def _pieces(found: Archive) -> Iterable[tuple[str, bytes]]:
    return (member for member in found.members() if layout.PIECE.fullmatch(member[0]))


def _block(name: str, data: bytes) -> Block:
    try:
        return Block.decode(data, key=name, order=0, digest="sha256:" + name.removeprefix(layout.BLOCKS))
    except (BlockError, ValueError, KeyError) as error:
        raise InvalidInput(f"{name} of this backup is not what was written: make it again") from error


def _call(line: bytes) -> Entry:
    id, call = json.loads(line)
    entry = Entry(id, Call.model_validate(call))
    if entry.place == (0, 0):
        raise ValueError(f"{id!r} is no id of an entry")
    return entry
