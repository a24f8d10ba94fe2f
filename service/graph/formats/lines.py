"""The lines of a file with their numbers; a packed file is unpacked on the way.

Memory is bounded: a block, one line of the format's greatest length, and for CSV one record. A line too long to hold is
only counted. Gzip is recognised by its first two bytes (RFC 1952, section 2.3.1), never by a file's name.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from errata.tables.limits import FREE_BYTES, MAX_RATIO

from service.errors import TooLarge
from service.graph.formats.row import GraphFileError, Line, LongLine

BYTE_ORDER_MARK, LINE_FEED = b"\xef\xbb\xbf", 0x0A
MAGIC = b"\x1f\x8b"
BLOCK_BYTES = 1 << 17  # largest piece that is unpacked at once, whatever size a file claims to unpack to


class Lines:
    """The lines of an open file.

    Attributes:
        max_bytes: Size of the longest line that is held; it may be lowered between lines.
    """

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        self._file, self.max_bytes, self.count = file, max_bytes, 0

    def __iter__(self) -> Iterator[Line]:
        readline, number = self._file.readline, 0
        while line := readline(self.max_bytes + 1):
            self.count = number = number + 1
            if line[-1] == LINE_FEED:
                line = line[:-1]
            elif len(line) > self.max_bytes:
                yield number, LongLine(line.count(b'"') + self._pass_rest())
                continue
            yield number, line if number > 1 else line.removeprefix(BYTE_ORDER_MARK)

    def _pass_rest(self) -> int:
        """Read to the end of a line, and count its quotes."""
        n_quotes = 0
        while piece := self._file.readline(BLOCK_BYTES):
            n_quotes += piece.count(b'"')
            if piece.endswith(b"\n"):
                break
        return n_quotes


def open_unpacked(file: BinaryIO) -> BinaryIO:
    """Return the content of a file from its beginning."""
    file.seek(0)
    is_packed = file.read(len(MAGIC)) == MAGIC
    file.seek(0)
    return cast(BinaryIO, io.BufferedReader(_GzipContent(file), BLOCK_BYTES)) if is_packed else file


class _GzipContent(io.RawIOBase):
    """The content of a packed file.

    Raises:
        GraphFileError: The file is damaged, or cut short.
        TooLarge: It has far more bytes than the packed ones.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._gzip, self._n_bytes = file, gzip.GzipFile(fileobj=file), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._gzip.read(min(len(buffer), BLOCK_BYTES))
        except EOFError as cause:
            raise GraphFileError("the gzip file is cut short: its end is missing; send it again") from cause
        except (OSError, zlib.error) as cause:
            raise GraphFileError(f"the gzip file is damaged ({cause}); send it again") from cause
        self._n_bytes += len(data)
        if self._n_bytes > FREE_BYTES + MAX_RATIO * self._file.tell():
            detail = f"the gzip file unpacks to more than {MAX_RATIO} times its bytes: send it unpacked"
            raise TooLarge(detail, limit=MAX_RATIO)
        buffer[: len(data)] = data
        return len(data)
