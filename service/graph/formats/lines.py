"""Numbered lines out of blocks of bytes, however they are cut; a line too long to hold is counted and let go."""

from __future__ import annotations

from collections.abc import Iterator

from service.graph.formats.row import Line, LongLine

MARK = b"\xef\xbb\xbf"  # what some editors write before the first line


class Lines:
    """most_bytes: of a line that is kept; it may be lowered on the way. count: lines so far, the last one too."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.count = 0
        self._held = bytearray()
        self._long: LongLine | None = None

    def feed(self, block: bytes) -> Iterator[Line]:
        first, *others = block.split(b"\n")
        self._hold(first)
        if not others:
            return
        yield self._release()
        last = others.pop()
        for line in others:
            self.count += 1
            yield self.count, line if len(line) <= self.most_bytes else LongLine(line.count(b'"'))
        self._hold(last)

    def finish(self) -> Iterator[Line]:
        """The last line, where it has no line feed."""
        if self._held or self._long:
            yield self._release()

    def _hold(self, part: bytes) -> None:
        if self._long is None and len(self._held) + len(part) <= self.most_bytes:
            self._held += part
            return
        before = self._long.quotes if self._long else self._held.count(b'"')
        self._long = LongLine(before + part.count(b'"'))
        self._held.clear()

    def _release(self) -> Line:
        self.count += 1
        line = self._long or bytes(self._held)
        self._held.clear()
        self._long = None
        if self.count == 1 and isinstance(line, bytes):
            line = line.removeprefix(MARK)
        return self.count, line
