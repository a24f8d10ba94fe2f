"""The one file of a backup: a tar, so that any machine can read it, sealed by a digest.

The last member names the SHA-256 of every byte before it. A file without it was cut.
"""

from __future__ import annotations

import tarfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import BinaryIO

from errata.wire import BACKUP_TYPE, SEAL

from service.errors import InvalidInput

MIME = BACKUP_TYPE
END = bytes(2 * tarfile.BLOCKSIZE)
READ_BYTES = 1_000_000
MAX_MEMBER_BYTES = 512_000_000  # size of Redis' largest value


async def seal(members: AsyncIterator[tuple[str, bytes]]) -> AsyncIterator[bytes]:
    """Write members, given as name and content, to a sealed file, and yield it in pieces."""
    total = sha256()
    async for name, data in members:
        piece = _member(name, data)
        total.update(piece)
        yield piece
    yield _member(SEAL, total.hexdigest().encode()) + END


def _member(name: str, data: bytes) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o600
    return info.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE)


@dataclass(frozen=True)
class Archive:
    """A file with the right seal. `places` are name, offset and size of each member, in the order of writing."""

    file: BinaryIO
    places: tuple[tuple[str, int, int], ...]
    _reading: Lock = field(default_factory=Lock, repr=False, compare=False)  # the file has one position

    @staticmethod
    def open(file: BinaryIO) -> Archive:
        """Open a backup; raise InvalidInput when it is none, was cut, or was altered."""
        infos: list[tarfile.TarInfo] = []
        try:
            file.seek(0)
            with tarfile.open(fileobj=file, mode="r:") as tar:
                for info in tar:
                    if not info.isreg() or info.size > MAX_MEMBER_BYTES:
                        raise InvalidInput(f"this is no backup of Errata: it holds {info.name!r}")
                    infos.append(info)
        except tarfile.TarError as error:
            raise InvalidInput(f"this is no whole backup: {error}; `errata backup` makes one") from error
        if not infos or infos[-1].name != SEAL:
            raise InvalidInput(
                "this is no whole backup: its end, which names its digest, is missing; make it again"
            )
        *members, last = infos
        if _read(file, last.offset_data, last.size).decode(errors="replace") != _digest(file, last.offset):
            raise InvalidInput("this backup is damaged: its bytes are not those that were written")
        return Archive(file, tuple((info.name, info.offset_data, info.size) for info in members))

    def members(self, prefix: str = "") -> Iterator[tuple[str, bytes]]:
        """Yield name and content of the members whose names begin with `prefix`."""
        for name, offset, size in self.places:
            if name.startswith(prefix):
                with self._reading:
                    data = _read(self.file, offset, size)
                yield name, data


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


def _digest(file: BinaryIO, end: int) -> str:
    total, remaining = sha256(), end
    file.seek(0)
    while remaining and (piece := file.read(min(READ_BYTES, remaining))):
        total.update(piece)
        remaining -= len(piece)
    return total.hexdigest()
