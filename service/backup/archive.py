"""The one file of a backup: a tar, so that any machine can look into it, sealed by the digest of all that it holds.

The last member names the SHA-256 of every byte before it. A file without it was cut.
"""

from __future__ import annotations

import tarfile
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from typing import BinaryIO

from service.errors import InvalidInput

SEAL = "sha256"
MIME = "application/x-tar"
BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)
READ = 1_000_000
MOST = 512_000_000  # bytes of one member: Redis holds no longer a value


async def sealed(members: AsyncIterator[tuple[str, bytes]]) -> AsyncIterator[bytes]:
    """The file, piece by piece."""
    total = sha256()
    async for name, data in members:
        piece = _member(name, data)
        total.update(piece)
        yield piece
    yield _member(SEAL, total.hexdigest().encode()) + END


def members(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Of a file that was found whole, in the order in which they were written."""
    with _opened(file) as tar:
        for info in tar:
            if info.name != SEAL:
                yield info.name, _content(tar, info)


def check(file: BinaryIO) -> None:
    """InvalidInput when it is no backup, was cut, or is not what was written."""
    with _opened(file) as tar:
        last: tarfile.TarInfo | None = None
        try:
            for info in tar:
                if not info.isreg() or info.size > MOST:
                    raise InvalidInput(f"this is no backup of Errata: it holds {info.name!r}")
                last = info
        except tarfile.TarError as error:
            raise InvalidInput(f"this is no whole backup: {error}; make it again") from error
        if last is None or last.name != SEAL:
            raise InvalidInput(
                "this is no whole backup: its end, which names its digest, is missing; make it again"
            )
        named = _content(tar, last).decode(errors="replace")
    if named != _digest(file, last.offset):
        raise InvalidInput("this backup is damaged: its bytes are not the ones that were written")


def _member(name: str, data: bytes) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o600
    return info.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % BLOCK)


def _opened(file: BinaryIO) -> tarfile.TarFile:
    file.seek(0)
    try:
        return tarfile.open(fileobj=file, mode="r:")
    except tarfile.TarError as error:
        raise InvalidInput(
            "this is no backup of Errata: it is no tar file (`errata backup` makes one)"
        ) from error


def _content(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    inside = tar.extractfile(info)
    assert inside is not None, "only plain files got here"
    return inside.read()


def _digest(file: BinaryIO, end: int) -> str:
    total, left = sha256(), end
    file.seek(0)
    while left and (piece := file.read(min(READ, left))):
        total.update(piece)
        left -= len(piece)
    return total.hexdigest()
