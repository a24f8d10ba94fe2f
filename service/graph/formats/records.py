"""CSV records out of lines (RFC 4180): a quoted field may hold line ends, so a record may be many lines.

A quote that is never closed would swallow the rest of a file. So a record that turns out to be no good costs its
first line alone; the lines behind it are read again as if it had not been there.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from service.graph.formats.row import LINE_BYTES, Code, GraphFileError, Line, Long, Refused, Rejected
from service.graph.formats.text import not_utf8

MOST_BYTES = 1_000_000  # in a record
MOST_AGAIN = 2  # times that a file's bytes are read again, on the average, before its quotes are given up

_OPENING = re.compile(r'(?:^|,) *"')
_CLOSING = re.compile(r'[^"]*+(?:""[^"]*+)*+"')
_RAW_UTF8 = "surrogateescape"  # keeps a record whole that has bytes which are not UTF-8


class Record(NamedTuple):
    """line: where it begins."""

    line: int
    fields: list[str]


class Records:
    def __init__(self) -> None:
        self._waiting: deque[Line] = deque()
        self._held: list[Line] = []
        self._size = 0
        self._open = False
        self._seen_bytes = 0
        self._again_bytes = 0

    def read(self, lines: Iterable[Line]) -> Iterator[Record | Rejected]:
        for line in lines:
            self._waiting.append(line)
            self._seen_bytes += _bytes(line)
            yield from self._drained()

    def end(self) -> Iterator[Record | Rejected]:
        while self._held:
            yield self._give_up("a quote is opened and never closed", "syntax")
            yield from self._drained()

    def _drained(self) -> Iterator[Record | Rejected]:
        while self._waiting:
            line = self._waiting.popleft()
            self._hold(line)
            if not self._open:
                yield from self._closed()
            elif self._size > MOST_BYTES:
                yield self._give_up("a quote is opened and not closed within a million bytes", "too_long")

    def _hold(self, line: Line) -> None:
        content = line[1]
        self._held.append(line)
        self._size += _bytes(line)
        if isinstance(content, Long):
            self._open ^= content.quotes % 2 == 1
            return
        if b'"' in content:
            self._open = open_after(content.decode(errors=_RAW_UTF8), self._open)

    def _closed(self) -> Iterator[Record | Rejected]:
        try:
            fields = _fields([content for _, content in self._held])
        except Refused as refused:
            alone = len(self._held) == 1 or refused.code != "syntax"
            yield self._drop(refused) if alone else self._give_up(refused.reason, refused.code)
            return
        number = self._held[0][0]
        self._forget()
        if fields:
            yield Record(number, fields)

    def _drop(self, refused: Refused) -> Rejected:
        number = self._held[0][0]
        self._forget()
        return refused.at(number)

    def _give_up(self, reason: str, code: Code) -> Rejected:
        first, *others = self._held
        self._again_bytes += self._size
        if self._again_bytes > MOST_BYTES + MOST_AGAIN * self._seen_bytes:
            raise GraphFileError(
                f"the quotes of the file do not pair up, from line {first[0]} on: mend it there"
            )
        self._waiting.extendleft(reversed(others))
        self._forget()
        return Rejected(first[0], reason, code)

    def _forget(self) -> None:
        self._held = []
        self._size = 0
        self._open = False


def _bytes(line: Line) -> int:
    """That are held for it."""
    return LINE_BYTES if isinstance(line[1], Long) else len(line[1]) + LINE_BYTES


def open_after(line: str, open_before: bool) -> bool:
    """Whether a quoted field goes on behind this line, where one did or did not go on before it."""
    at = 0
    is_open = open_before
    while True:
        found = (_CLOSING.match if is_open else _OPENING.search)(line, at)
        if found is None:
            return is_open
        at = found.end()
        is_open = not is_open


def _fields(contents: list[bytes | Long]) -> list[str]:
    """Of a whole record; none of an empty line."""
    kept = [content for content in contents if isinstance(content, bytes)]
    if len(kept) < len(contents):
        raise Refused("the record has a line that is too long to be read", "too_long")
    try:
        text = "\n".join([content.decode().removesuffix("\r") for content in kept])
    except UnicodeDecodeError as cause:
        raise not_utf8(cause) from cause
    if "\r" in text:
        raise Refused("the control character U+000D stands within a line", "control")
    if '"' not in text:
        return text.split(",") if text.strip() else []
    try:
        return next(csv.reader([text], strict=True, skipinitialspace=True), [])
    except csv.Error as cause:
        code: Code = "too_long" if "field larger" in str(cause) else "syntax"
        raise Refused(f"no CSV record ({cause})", code) from cause
