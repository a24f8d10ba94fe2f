"""Facts from a CSV table (RFC 4180), whose header names the columns.

A quoted field may hold line ends, so a record may be many lines. A quote that is never closed swallows all later
records, so the file is refused at the line that opens it: the intended end of the record is unknown.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from service.graph.formats.base import Reader
from service.graph.formats.detect import header_name
from service.graph.formats.row import LINE_BYTES, Code, GraphFileError, Line, LongLine, Refused, Result, Row
from service.graph.formats.text import clean, clean_id, clean_relation, decode, excerpt

MAX_RECORD_BYTES = 1_000_000

_REQUIRED_COLUMNS = {"subject": ("subject",), "relation": ("relation", "predicate"), "object": ("object",)}
_COLUMN_NAMES = {"subject", "relation", "predicate", "object", "subject_id", "object_id"}
_OPENING = re.compile(r'(?:^|,) *"')
_CLOSING = re.compile(r'[^"]*+(?:""[^"]*+)*+"')
_RAW_UTF8 = "surrogateescape"  # error handler that keeps bytes that are not UTF-8
_MEND = "close it there, and write a quote that belongs to a text twice"


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of the columns in a record of `width` fields."""

    width: int
    subject: int
    relation: int
    object: int
    subject_id: int | None
    object_id: int | None

    @staticmethod
    def of(header: list[str]) -> Columns:
        """Find the columns in a header.

        Raises:
            GraphFileError: Columns are missing or named twice; the text names them.
        """
        names = [header_name(cell) for cell in header]
        twice = sorted(n for n, times in Counter(names).items() if times > 1 and n in _COLUMN_NAMES)
        if twice:
            raise GraphFileError(
                f"the CSV header names {', '.join(twice)} twice: keep one column of that name"
            )
        spelling = {
            key: next((n for n in spellings if n in names), None)
            for key, spellings in _REQUIRED_COLUMNS.items()
        }
        missing = [key for key, name in spelling.items() if name is None]
        if missing:
            raise GraphFileError(
                f"the CSV header lacks {', '.join(missing)}: it needs the columns subject, relation and object, "
                f"with commas between them, and is '{excerpt(','.join(header))}'"
            )
        places = [names.index(name) for name in spelling.values() if name is not None]
        ids = [names.index(key) if key in names else None for key in ("subject_id", "object_id")]
        return Columns(len(header), *places, *ids)


class CsvReader(Reader):
    """Reads CSV. A bad record is rejected alone; quotes that do not pair up end the file."""

    max_line_bytes = MAX_RECORD_BYTES

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._columns: Columns | None = None
        self._last_label: tuple[str, str] | None = None
        self._lines: list[bytes | LongLine] = []  # lines of the current record
        self._start, self._bytes, self._in_quotes = 0, 0, False

    def read(self, lines: Iterable[Line]) -> Iterator[Result]:
        for number, content in lines:
            if not self._lines:
                self._start, self._bytes = number, 0
            self._lines.append(content)
            if isinstance(content, LongLine):
                self._bytes += LINE_BYTES
                self._in_quotes ^= content.quotes % 2 == 1
            else:
                self._bytes += LINE_BYTES + len(content)
                if b'"' in content:
                    self._in_quotes = in_quotes_after(content.decode(errors=_RAW_UTF8), self._in_quotes)
            if not self._in_quotes:
                record, self._lines = self._lines, []
                yield from self._rows(record)
            elif self._bytes > MAX_RECORD_BYTES:
                raise GraphFileError(
                    f"a quote that is opened in the record at line {self._start} is not closed within "
                    f"{MAX_RECORD_BYTES:,} bytes: {_MEND}"
                )

    def end(self) -> Iterator[Result]:
        if self._lines:
            raise GraphFileError(
                f"a quote that is opened in the record at line {self._start} is never closed: {_MEND}"
            )
        if self._columns is None:
            Columns.of([])
        return iter(())

    def _rows(self, record: list[bytes | LongLine]) -> Iterator[Result]:
        try:
            fields = _fields(record)
            if not fields:
                return
            if self._columns is None:
                self._columns = Columns.of(fields)
            else:
                yield from self._fact(self._columns, fields)
        except Refused as refused:
            if self._columns is None:
                raise GraphFileError(f"the CSV header cannot be read: {refused.reason}") from refused
            if len(record) > 1 and refused.code == "syntax":
                raise GraphFileError(
                    f"the quotes of the record at line {self._start} do not pair up ({refused.reason}): {_MEND}"
                ) from refused
            yield refused.at(self._start)

    def _fact(self, columns: Columns, fields: list[str]) -> Iterator[Row]:
        """Yield the fact, and before it the name of a subject that has an id."""
        if len(fields) != columns.width:
            raise Refused(f"{len(fields)} fields instead of {columns.width}, as the header has", "columns")
        name = clean("subject", fields[columns.subject])
        relation = clean_relation(fields[columns.relation])
        text = clean("object", fields[columns.object])
        object_id = _id("object_id", columns.object_id, fields)
        subject_id = _id("subject_id", columns.subject_id, fields)
        if subject_id and self._last_label != (subject_id, name):
            self._last_label = (subject_id, name)
            yield Row("label", subject_id, "", name, "", self._start, True)
        yield Row("fact", subject_id or name, relation, text, object_id, self._start, bool(subject_id))


def in_quotes_after(line: str, in_quotes: bool) -> bool:
    """Return whether a quoted field continues after this line; `in_quotes` tells whether one does before it."""
    at = 0
    while True:
        quote = (_CLOSING.match if in_quotes else _OPENING.search)(line, at)
        if quote is None:
            return in_quotes
        at = quote.end()
        in_quotes = not in_quotes


def _fields(record: list[bytes | LongLine]) -> list[str]:
    """Split a whole record into fields; an empty line has none."""
    lines = [line for line in record if isinstance(line, bytes)]
    if len(lines) < len(record):
        raise Refused("the record has a line that is too long to be read", "too_long")
    text = "\n".join(map(decode, lines))
    if "\r" in text:
        raise Refused("the control character U+000D stands within a line", "control")
    if '"' not in text:
        return text.split(",") if text.strip() else []
    try:
        return next(csv.reader([text], strict=True, skipinitialspace=True), [])
    except csv.Error as cause:
        code: Code = "too_long" if "field larger" in str(cause) else "syntax"
        raise Refused(f"no CSV record ({cause})", code) from cause


def _id(field: str, column: int | None, fields: list[str]) -> str:
    raw = "" if column is None else fields[column]
    return clean_id(field, raw) if raw.strip() else ""
