"""Files that are sent and received piece by piece, since they may be larger than this machine's memory.

A backup is a tar. Its first member describes it; its last, the seal, is the SHA-256 of every byte before it.
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

from errata import wire
from errata.errors import NotErrata, UnreadableFile, UnwritableFile
from errata.problems import unsendable

PIECE_BYTES = 256 * 1024
SENDING = "sending"  # phase in which the client reports the progress, in bytes
BLOCK = 512  # bytes of a tar's block
END = 4 * BLOCK  # bytes of the seal's header and content, and of the two empty blocks that end a tar
HEAD = 16 * BLOCK  # bytes at the beginning that hold the description

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC

Progress = Callable[["wire.ImportProgress"], None]


class Upload(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The body of one request, for both clients.

    Attributes:
        whole: True when all bytes were sent; before that the service has made no lasting change.
        sent_bytes: Number of bytes sent.
        total_bytes: Number of all bytes; None where it is unknown, as for a pipe.
    """

    def __init__(self, source: str | Path | BinaryIO, progress: Progress | None = None) -> None:
        """Look at the source; an open file stays open.

        Raises:
            Malformed: It is empty.
            UnreadableFile: It cannot be read.
        """
        source = Path(source) if isinstance(source, str) else source
        self.progress = progress or ignore
        self.whole, self.sent_bytes = False, 0
        self.name = str(source) if isinstance(source, Path) else str(getattr(source, "name", "the file"))
        self.total_bytes: int | None = None
        self._source, self._has_begun = source, False
        self._head = b""  # first bytes of a pipe, which were read to see whether it is empty
        self._start: int | None = None
        if isinstance(source, Path):
            self.total_bytes = self._measure(source)
        elif source.seekable():
            self._start = source.tell()
            self.total_bytes = source.seek(0, os.SEEK_END) - self._start
            source.seek(self._start)
        else:
            self._head = self._read_piece(source)
            self.total_bytes = None if self._head else 0
        if self.total_bytes == 0:
            raise unsendable(f"{self.name} is empty")

    def rewind(self) -> bool:
        """Return True if the file can be sent from its first byte on, for the first time or again."""
        return isinstance(self._source, Path) or self._start is not None or not self._has_begun

    def __iter__(self) -> Iterator[bytes]:
        with self._from_start() as file:
            while piece := self._read_piece(file):
                yield piece
                self._count(piece)
        self.whole = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._from_start() as file:
            while piece := await asyncio.to_thread(self._read_piece, file):
                yield piece
                self._count(piece)
        self.whole = True

    def _measure(self, path: Path) -> int | None:
        """Return the bytes of a file; None for a named pipe, whose writer would not survive that it is opened twice."""
        try:
            if stat.S_ISFIFO(path.stat().st_mode):
                return None
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error
        with self._open(path) as file:
            status = os.fstat(file.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def _from_start(self) -> AbstractContextManager[BinaryIO]:
        self._has_begun, self.whole, self.sent_bytes = True, False, 0
        if isinstance(self._source, Path):
            return self._open(self._source)
        if self._start is not None:
            self._source.seek(self._start)
        return nullcontext(self._source)

    def _read_piece(self, file: BinaryIO) -> bytes:
        head, self._head = self._head, b""
        try:
            return head or file.read(PIECE_BYTES)
        except OSError as error:
            raise self._unreadable(error) from error

    def _count(self, piece: bytes) -> None:
        self.sent_bytes += len(piece)
        self.progress(wire.ImportProgress(phase=SENDING, done=self.sent_bytes, total=self.total_bytes))

    def _open(self, path: Path) -> BinaryIO:
        try:
            return path.open("rb")
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError | ValueError) -> UnreadableFile:
        why = getattr(error, "strerror", None) or str(error)
        return UnreadableFile(f"{self.name} cannot be read: {why}; nothing was changed")


class Download:
    """Receives a backup into a file, which appears only when it is whole."""

    def __init__(self, into: str | Path | BinaryIO, progress: Progress | None = None) -> None:
        """Prepare to write to a path or a file open for writing bytes; `progress` is called with the bytes received."""
        into = Path(into) if isinstance(into, str) else into
        self._into, self._progress = into, progress or ignore
        self.name = str(into) if isinstance(into, Path) else str(getattr(into, "name", "the file"))
        self._draft = Path(f"{self.name}.{os.getpid()}.part")
        self._reset()

    def _reset(self) -> None:
        self._file: BinaryIO | None = None if isinstance(self._into, Path) else self._into
        self._digest, self._head, self._tail, self.received_bytes = sha256(), b"", b"", 0

    @property
    def repeatable(self) -> bool:
        """True if the file can be received again."""
        return isinstance(self._into, Path) or not self.received_bytes

    @staticmethod
    def accepts(response: httpx.Response) -> bool:
        return response.is_success and response.headers.get("content-type", "").startswith(wire.BACKUP_TYPE)

    def write(self, piece: bytes) -> None:
        """Write a piece; raise UnwritableFile, for example when the disk is full."""
        try:
            if self._file is None:
                self._file = os.fdopen(os.open(self._draft, FLAGS, 0o600), "wb")
            self._file.write(piece)
        except OSError as error:
            raise self._unwritable(error) from error
        self.received_bytes += len(piece)
        self._head += piece[: HEAD - len(self._head)]
        pending = self._tail + piece
        self._digest.update(pending[:-END])
        self._tail = pending[-END:]
        self._progress(wire.ImportProgress(phase="receiving", done=self.received_bytes, total=None))

    def finish(self) -> bytes:
        """Rename the file if it is whole, and return its head as JSON; else raise NotErrata, and there is no file."""
        seal = self._tail[BLOCK : BLOCK + 64].decode(errors="replace")
        if not self._tail.startswith(wire.SEAL.encode() + b"\0") or seal != self._digest.hexdigest():
            raise NotErrata("the backup broke off before its end: there is no file; make it again")
        try:
            size = int(self._head[124:136].rstrip(b"\0 "), 8)
            head = wire.BackupHead.model_validate_json(self._head[BLOCK : BLOCK + size])
        except (ValueError, ValidationError) as error:
            raise NotErrata("the response is no backup of Errata: there is no file") from error
        try:
            if isinstance(self._into, Path) and self._file is not None:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._draft.replace(self._into)
        except OSError as error:
            raise self._unwritable(error) from error
        return head.model_dump_json().encode()

    def discard(self) -> None:
        """Delete the bytes received so far; those in a pipe cannot be taken back."""
        if isinstance(self._into, Path):
            if self._file is not None:
                self._file.close()
            with suppress(OSError):
                self._draft.unlink(missing_ok=True)
            self._reset()

    def _unwritable(self, error: OSError) -> UnwritableFile:
        return UnwritableFile(f"{self.name} cannot be written: {error.strerror or error}; there is no backup")


def ignore(_: object) -> None:
    """Report no progress."""
