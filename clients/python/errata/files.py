"""Files on their way to the service and from it, piece by piece: they may be larger than this machine's memory.

A backup is a tar. Its first member says what it is of; its last, the seal, is the SHA-256 of every byte before it.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import httpx
from pydantic import ValidationError

from errata.errors import NotErrata, UnreadableFile, UnwritableFile
from errata.problems import unsendable
from errata.wire import BackupHead, ImportProgress

PIECE_BYTES = 256 * 1024
SENDING = "sending"  # the phase in which this side tells the progress, in bytes

Progress = Callable[[ImportProgress], None]


class Upload(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The body of one request, for both clients.

    whole: all of it was handed over. Before that the service cannot have done anything with it that lasts.
    sent_bytes, total_bytes: how far it is; None where nobody knows how much there will be, as in a pipe.
    """

    def __init__(self, source: Path | BinaryIO, progress: Progress | None = None) -> None:
        """Malformed when it is empty, UnreadableFile when it cannot be read. A file that is given stays open."""
        self.progress = progress or ignore
        self.whole, self.sent_bytes = False, 0
        self._source, self._begun = source, False
        self._head = b""  # what was read of a pipe to see whether there is anything in it
        self.name = str(source) if isinstance(source, Path) else str(getattr(source, "name", "the file"))
        self._start = self._where()
        self.total_bytes = self._size()
        if self.total_bytes == 0 or (self.total_bytes is None and not self._something()):
            raise unsendable(f"{self.name} is empty")

    def rewind(self) -> bool:
        """Whether it can be sent from its first byte on, for the first time or again."""
        return isinstance(self._source, Path) or self._start is not None or not self._begun

    def __iter__(self) -> Iterator[bytes]:
        with self._from_start() as file:
            while piece := self._piece(file):
                yield piece
                self._sent(piece)
        self.whole = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._from_start() as file:
            while piece := await asyncio.to_thread(self._piece, file):
                yield piece
                self._sent(piece)
        self.whole = True

    def _from_start(self) -> AbstractContextManager[BinaryIO]:
        self._begun, self.whole, self.sent_bytes = True, False, 0
        if isinstance(self._source, Path):
            return self._opened(self._source)
        if self._start is not None:
            self._source.seek(self._start)
        return nullcontext(self._source)

    def _piece(self, file: BinaryIO) -> bytes:
        head, self._head = self._head, b""
        try:
            return head or file.read(PIECE_BYTES)
        except OSError as error:
            raise self._unreadable(error) from error

    def _sent(self, piece: bytes) -> None:
        self.sent_bytes += len(piece)
        self.progress(ImportProgress(phase=SENDING, done=self.sent_bytes, total=self.total_bytes))

    def _where(self) -> int | None:
        if isinstance(self._source, Path) or not self._source.seekable():
            return None
        return self._source.tell()

    def _size(self) -> int | None:
        if isinstance(self._source, Path):
            with self._opened(self._source) as file:
                about = os.fstat(file.fileno())
            return about.st_size if stat.S_ISREG(about.st_mode) else None
        if self._start is None:
            return None
        end = self._source.seek(0, os.SEEK_END)
        self._source.seek(self._start)
        return end - self._start

    def _something(self) -> bool:
        """Of a pipe only; what is read of it is sent first. A named pipe is taken as it is."""
        if isinstance(self._source, Path):
            return True
        self._head = self._piece(self._source)
        return bool(self._head)

    def _opened(self, path: Path) -> BinaryIO:
        try:
            return path.open("rb")
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError | ValueError) -> UnreadableFile:
        why = getattr(error, "strerror", None) or str(error)
        return UnreadableFile(f"{self.name} cannot be read: {why}; nothing was changed")


def ignore(_: ImportProgress) -> None:
    pass


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
