"""The rows of an import until all of it is read: on disk, in parts, so that only its names are held in memory.

A part holds a range of the hash of the entity, and so whole buckets or a share of one. The files have no name: a
process that is killed leaves nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile, gettempdir
from typing import TypeAlias

PARTS = 32  # a power of two
IN_MEMORY = 1_000_000  # bytes of a part before it goes to disk
LINES = 2_000  # of a part that are written together

Row: TypeAlias = tuple[str, str, str, str, str]  # entity, relation, object, object id, act; none holds a tab


class Spool:
    def __init__(self) -> None:
        self._parts = [_file() for _ in range(PARTS)]
        self._waiting: list[list[str]] = [[] for _ in range(PARTS)]
        self.rows = 0

    def add(self, row: Row) -> None:
        part = zlib.crc32(row[0].encode()) * PARTS >> 32
        waiting = self._waiting[part]
        waiting.append("\t".join(row))
        self.rows += 1
        if len(waiting) >= LINES:
            self._write(part)

    def part(self, number: int) -> Iterator[list[str]]:
        """The rows of one part, in the order in which they came."""
        self._write(number)
        file = self._parts[number]
        file.seek(0)
        for line in file:
            yield line[:-1].decode().split("\t")

    def close(self) -> None:
        for file in self._parts:
            file.close()

    def _write(self, part: int) -> None:
        waiting = self._waiting[part]
        if waiting:
            self._parts[part].write(("\n".join(waiting) + "\n").encode())
            waiting.clear()


def _file() -> SpooledTemporaryFile[bytes]:
    return SpooledTemporaryFile(IN_MEMORY, dir=gettempdir())
