"""A backup on its way into a file: there when it is whole, and not there before.

It is a tar. Its first member says what it is of; its last, the seal, is the SHA-256 of every byte before it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import httpx
from pydantic import ValidationError

from errata.errors import NotErrata, UnwritableFile
from errata.upload import Progress, ignore
from errata.wire import BackupHead, ImportProgress

BLOCK = 512  # bytes: a tar is made of these
SEAL = b"sha256"
END = 4 * BLOCK  # header and content of the seal, and the two empty blocks that end a tar
HEAD = 16 * BLOCK
MIME = "application/x-tar"
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def downloads(response: httpx.Response) -> bool:
    return response.is_success and response.headers.get("content-type", "").startswith(MIME)


class Download:
    """into: a path, or a file open for writing bytes. progress: told of the bytes that came."""

    def __init__(self, into: Path | BinaryIO, progress: Progress | None = None) -> None:
        self._into, self._progress = into, progress or ignore
        self.name = str(into) if isinstance(into, Path) else str(getattr(into, "name", "the file"))
        self._file: BinaryIO | None = None
        self._begin()

    def _begin(self) -> None:
        self._total, self._head, self._tail, self.bytes = sha256(), b"", b"", 0

    @property
    def repeatable(self) -> bool:
        """What went into a pipe cannot be taken back."""
        return isinstance(self._into, Path) or not self.bytes

    def take(self, piece: bytes) -> None:
        """UnwritableFile when the disk is full, say."""
        try:
            self._opened().write(piece)
        except OSError as error:
            raise self._unwritable(error) from error
        self.bytes += len(piece)
        self._head += piece[: HEAD - len(self._head)]
        held = self._tail + piece
        self._total.update(held[:-END])
        self._tail = held[-END:]
        self._progress(ImportProgress(phase="receiving", done=self.bytes, total=None))

    def done(self) -> BackupHead:
        """NotErrata unless all of it came: then there is no file."""
        if not self._is_whole():
            raise NotErrata("the backup broke off before its end: there is no file; make it again")
        try:
            size = int(self._head[124:136].rstrip(b"\0 "), 8)
            head = BackupHead.model_validate_json(self._head[BLOCK : BLOCK + size])
        except (ValueError, ValidationError) as error:
            raise NotErrata("what came is no backup of Errata: there is no file") from error
        try:
            self._keep()
        except OSError as error:
            raise self._unwritable(error) from error
        return head

    def _keep(self) -> None:
        """On the disk, and only then under its name."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
        self._close()
        if isinstance(self._into, Path):
            _draft(self._into).replace(self._into)

    def drop(self) -> None:
        """Leave nothing of what came so far."""
        self._close()
        if isinstance(self._into, Path):
            with suppress(OSError):
                _draft(self._into).unlink(missing_ok=True)
        self._begin()

    def _is_whole(self) -> bool:
        named = self._tail[BLOCK : BLOCK + 64].decode(errors="replace")
        return self._tail.startswith(SEAL + b"\0") and named == self._total.hexdigest()

    def _opened(self) -> BinaryIO:
        if not isinstance(self._into, Path):
            return self._into
        if self._file is None:
            self._file = os.fdopen(os.open(_draft(self._into), FLAGS, 0o600), "wb")
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _unwritable(self, error: OSError) -> UnwritableFile:
        return UnwritableFile(f"{self.name} cannot be written: {error.strerror or error}; there is no backup")


def _draft(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}.part")
