"""Cuts blocks of bytes into numbered lines; a line too long to hold is only counted."""

from __future__ import annotations

from collections.abc import Iterator

from service.graph.formats.row import Line, LongLine

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
