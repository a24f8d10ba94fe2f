"""A file on its way to the service, read piece by piece: it may be larger than this machine's memory."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

import httpx

from errata.errors import UnreadableFile
from errata.refusals import unsendable
from errata.wire import ImportProgress

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
