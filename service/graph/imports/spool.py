"""The rows of an import until all are read: they are on disk, in parts, so that only the names are held in memory.

A part holds a range of the hash of the entity, and so whole buckets or a share of one. The files have no name, so a
killed process leaves none behind.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import TypeAlias

from models.graph.blocks import CHUNKS
from service.errors import TooLarge

PARTS = CHUNKS  # a power of two
MAX_MEMORY_BYTES = 1_000_000  # bytes at which a part goes to disk
LINES_PER_WRITE = 2_000
# Entity, relation, object, object id and act, and details where there are some, all without tabs
SpooledRow: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class ImportLimits:
    """The largest size of one import; a larger one raises TooLarge."""

    # Bytes on disk, half for each of two spools: 4 GB hold some 50 million rows
    disk_bytes: int = 8_000_000_000
    names: int = 20_000_000  # names that are held in memory, some 280 bytes each


class Spool:
    def __init__(self, max_bytes: int) -> None:
        """Open the files of a spool, which may have `max_bytes` together."""
        self.max_bytes = max_bytes
        self._files = [SpooledTemporaryFile(MAX_MEMORY_BYTES) for _ in range(PARTS)]  # noqa: SIM115  until `close`
        self._pending: list[list[str]] = [[] for _ in range(PARTS)]
        self.rows = self._n_bytes = 0

    def add(self, row: SpooledRow) -> None:
        """Add a row; raise TooLarge if the rows have too many bytes."""
        part = zlib.crc32(row[0].encode()) * PARTS >> 32
        pending = self._pending[part]
        pending.append("\t".join(row))
        self.rows += 1
        if len(pending) >= LINES_PER_WRITE:
            self._write(part)

    def read_part(self, number: int) -> Iterator[list[str]]:
        """Yield the rows of one part, in the order in which they were added."""
        self._write(number)
        file = self._files[number]
        file.seek(0)
        for line in file:
            yield line[:-1].decode().split("\t")

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _write(self, part: int) -> None:
        pending = self._pending[part]
        if pending:
            data = ("\n".join(pending) + "\n").encode()
            self._n_bytes += len(data)
            if self._n_bytes > self.max_bytes:
                raise TooLarge(
                    f"the rows of one import may have {self.max_bytes:,} bytes: import the file in several parts",
                    limit=self.max_bytes,
                )
            self._files[part].write(data)
            pending.clear()
