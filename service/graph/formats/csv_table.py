"""Facts out of a CSV table, whose header says which column is which."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from service.graph.formats.detect import header_name
from service.graph.formats.row import (
    LINE_BYTES,
    Code,
    GraphFileError,
    Line,
    LongLine,
    Read,
    Refused,
    Rejected,
    Row,
)
from service.graph.formats.text import clean, clean_id, clean_relation, not_utf8, shown

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
        if isinstance(content, LongLine):
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
    return LINE_BYTES if isinstance(line[1], LongLine) else len(line[1]) + LINE_BYTES


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


def _fields(contents: list[bytes | LongLine]) -> list[str]:
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


_NEEDED = {"subject": ("subject",), "relation": ("relation", "predicate"), "object": ("object",)}


@dataclass(frozen=True, slots=True)
class Columns:
    """Where in a record each thing stands. width: how many fields a record has."""

    width: int
    subject: int
    relation: int
    object: int
    subject_id: int | None
    object_id: int | None

    @staticmethod
    def of(header: list[str]) -> Columns:
        """GraphFileError names what is missing."""
        names = [header_name(cell) for cell in header]
        twice = sorted(n for n, times in Counter(names).items() if times > 1 and n in _USED)
        if twice:
            raise GraphFileError(
                f"the CSV header names {', '.join(twice)} twice: keep one column of that name"
            )
        found = {key: next((n for n in named if n in names), None) for key, named in _NEEDED.items()}
        missing = [key for key, name in found.items() if name is None]
        if missing:
            raise GraphFileError(
                f"the CSV header lacks {', '.join(missing)}: it needs the columns subject, relation and object, "
                f"with commas between them, and is '{shown(','.join(header))}'"
            )
        needed = [names.index(name) for name in found.values() if name is not None]
        ids = [names.index(key) if key in names else None for key in ("subject_id", "object_id")]
        return Columns(len(header), *needed, *ids)


_USED = {"subject", "relation", "predicate", "object", "subject_id", "object_id"}


class TableReader:
    most_bytes = MOST_BYTES

    def __init__(self, language: str) -> None:
        self.left_out: Counter[str] = Counter()
        self._records = Records()
        self._columns: Columns | None = None
        self._named: tuple[str, str] | None = None

    def read(self, lines: Iterable[Line]) -> Iterator[Read]:
        for record in self._records.read(lines):
            yield from self._rows(record)

    def end(self) -> Iterator[Read]:
        for record in self._records.end():
            yield from self._rows(record)
        if self._columns is None:
            Columns.of([])

    def _rows(self, record: Record | Rejected) -> Iterator[Read]:
        if self._columns is None:
            if isinstance(record, Rejected):
                raise GraphFileError(f"the CSV header cannot be read: {record.reason}")
            self._columns = Columns.of(record.fields)
        elif isinstance(record, Rejected):
            yield record
        else:
            try:
                yield from self._facts(self._columns, record)
            except Refused as refused:
                yield refused.at(record.line)

    def _facts(self, columns: Columns, record: Record) -> Iterator[Row]:
        """The fact, and before it the name of a subject that is known by its id."""
        line, fields = record
        if len(fields) != columns.width:
            raise Refused(f"{len(fields)} fields instead of {columns.width}, as the header has", "columns")
        name = clean("subject", fields[columns.subject])
        relation = clean_relation(fields[columns.relation])
        told = clean("object", fields[columns.object])
        object_id = _id("object_id", columns.object_id, fields)
        subject_id = _id("subject_id", columns.subject_id, fields)
        if subject_id and self._named != (subject_id, name):
            self._named = (subject_id, name)
            yield Row("label", subject_id, "", name, "", line, True)
        yield Row("fact", subject_id or name, relation, told, object_id, line, bool(subject_id))


def _id(field: str, column: int | None, fields: list[str]) -> str:
    raw = "" if column is None else fields[column]
    return clean_id(field, raw) if raw.strip() else ""
