"""Cuts blocks of bytes into numbered lines; a line too long to hold is only counted.

Unpacks a gzip file, and passes any other through, in pieces of bounded size.

Gzip is recognised by its first two bytes (RFC 1952, section 2.3.1), never by a file's name. Members may follow one
another, and zeros may pad the end, as `gzip` and `bgzip` write them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from service.errors import TooLarge
from service.graph.formats.row import GraphFileError, Line, LongLine

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines:
    """Cuts blocks into lines.

    Attributes:
        max_bytes: Size of the longest line that is held; it may be lowered between lines.
        count: Number of lines so far.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.count = 0
        self._partial = bytearray()
        self._long: LongLine | None = None

    def feed(self, block: bytes) -> Iterator[Line]:
        first, *later = block.split(b"\n")
        self._extend(first)
        if not later:
            return
        yield self._complete()
        last = later.pop()
        for line in later:
            self.count += 1
            yield self.count, line if len(line) <= self.max_bytes else LongLine(line.count(b'"'))
        self._extend(last)

    def finish(self) -> Iterator[Line]:
        """Yield the last line if it has no line feed."""
        if self._partial or self._long:
            yield self._complete()

    def _extend(self, part: bytes) -> None:
        if self._long is None and len(self._partial) + len(part) <= self.max_bytes:
            self._partial += part
            return
        before = self._long.quotes if self._long else self._partial.count(b'"')
        self._long = LongLine(before + part.count(b'"'))
        self._partial.clear()

    def _complete(self) -> Line:
        self.count += 1
        line = self._long or bytes(self._partial)
        self._partial.clear()
        self._long = None
        if self.count == 1 and isinstance(line, bytes):
            line = line.removeprefix(BYTE_ORDER_MARK)
        return self.count, line


MAGIC = b"\x1f\x8b"
BLOCK_BYTES = 1 << 17  # largest piece that is yielded, whatever size a file claims to unpack to
# Input per step. The rest of a step is copied after each member, so a small step keeps many small members cheap
STEP_BYTES = 1 << 14
MAX_RATIO, FREE_BYTES = 100, 100_000_000  # Bytes that a packed one may unpack to, and those that any file may
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class Gunzip:
    """Unpacks pieces. Exhaust the iterator that `feed` returns before the next call."""

    def __init__(self) -> None:
        self._head: bytes | None = b""  # the first bytes, until they tell what the file is
        self._packed = False
        self._member: zlib._Decompress | None = None
        self._n_left = FREE_BYTES  # Bytes that may still come out

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._head is not None:
            self._head += data
            if len(self._head) < len(MAGIC) and MAGIC.startswith(self._head):
                return
            data, self._head = self._head, None
            self._packed = data.startswith(MAGIC)
        step = STEP_BYTES if self._packed else BLOCK_BYTES
        for start in range(0, len(data), step):
            piece = data[start : start + step]
            if self._packed:
                self._n_left += MAX_RATIO * len(piece)
                yield from self._unpack(piece)
            else:
                yield piece

    def finish(self) -> Iterator[bytes]:
        if self._member is not None:
            raise GraphFileError("the gzip file is cut short: its end is missing; send it again")
        if self._head:
            yield self._head

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._member is None:
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._member = zlib.decompressobj(_GZIP_WINDOW)
            member, full = self._member, True
            # After a full block the decompressor may hold more output, even when it has consumed all input.
            while (data or full) and not member.eof:
                try:
                    block = member.decompress(data, BLOCK_BYTES)
                except zlib.error as cause:
                    raise GraphFileError(f"the gzip file is damaged ({cause}); send it again") from cause
                data, full = member.unconsumed_tail, len(block) == BLOCK_BYTES
                self._n_left -= len(block)
                if self._n_left < 0:
                    detail = (
                        f"the gzip file unpacks to more than {MAX_RATIO} times its bytes: send it unpacked"
                    )
                    raise TooLarge(detail, limit=MAX_RATIO)
                if block:
                    yield block
            if not member.eof:
                return
            data, self._member = member.unused_data, None
