"""The records of a CSV table (RFC 4180), with commas, semicolons or tabs between its columns.

A quoted field may hold line ends, so a record may be many lines. A quote that is never closed swallows all later
records, so the file is refused at the line that opens it: the intended end of the record is unknown.

Facts by name: subject, tab, relation, tab, object, as K-BERT's `.spo` files hold them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping

from errata.tables.delimiter import DECLARATION, find_delimiter

from service.graph.formats.detect import TABS
from service.graph.formats.row import (
    LINE_BYTES,
    Code,
    GraphFileError,
    Line,
    LongLine,
    Reader,
    Refused,
    Result,
    Row,
    Skipped,
    clean,
    clean_relation,
    decode,
)
from service.graph.formats.table import TableReader

MAX_RECORD_BYTES = 1_000_000

_CLOSING = re.compile(r'[^"]*+(?:""[^"]*+)*+"')
_RAW_UTF8 = "surrogateescape"  # error handler that keeps bytes that are not UTF-8
_MEND = "close it there, and write a quote that belongs to a text twice"


class CsvReader(TableReader):
    """Reads CSV. A bad record is rejected alone; quotes that do not pair up end the file."""

    max_line_bytes = MAX_RECORD_BYTES

    def __init__(self, language: str, subject: str = "", columns: Mapping[str, str] | None = None) -> None:
        super().__init__(language, subject, columns)
        self._delimiter = ""
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
                if not self._delimiter and content.strip():
                    head = content.decode(errors=_RAW_UTF8)
                    self._delimiter = find_delimiter(head)
                    if DECLARATION.match(head):
                        self._lines.clear()
                        continue
                if b'"' in content:
                    text = content.decode(errors=_RAW_UTF8)
                    self._in_quotes = in_quotes_after(text, self._in_quotes, self._delimiter or ",")
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
        return super().end()

    def _rows(self, record: list[bytes | LongLine]) -> Iterator[Result]:
        try:
            fields = _fields(record, self._delimiter or ",")
            yield from self.read_record(fields, self._start)
        except Refused as refused:
            if self.columns is None:
                raise GraphFileError(f"the header of the table cannot be read: {refused.reason}") from refused
            if len(record) > 1 and refused.code == "syntax":
                raise GraphFileError(
                    f"the quotes of the record at line {self._start} do not pair up ({refused.reason}): {_MEND}"
                ) from refused
            yield refused.at(self._start)


def in_quotes_after(line: str, in_quotes: bool, delimiter: str = ",") -> bool:
    """Return whether a quoted field continues after this line; `in_quotes` tells whether one does before it."""
    at, opening = 0, re.compile(rf'(?:^|{re.escape(delimiter)}) *"')
    while True:
        quote = (_CLOSING.match if in_quotes else opening.search)(line, at)
        if quote is None:
            return in_quotes
        at = quote.end()
        in_quotes = not in_quotes


def _fields(record: list[bytes | LongLine], delimiter: str) -> list[str]:
    """Split a whole record into fields; an empty line has none."""
    lines = [line for line in record if isinstance(line, bytes)]
    if len(lines) < len(record):
        raise Refused("the record has a line that is too long to be read", "too_long")
    text = "\n".join(map(decode, lines))
    if "\r" in text:
        raise Refused("the control character U+000D stands within a line", "control")
    if '"' not in text:
        return text.split(delimiter) if text.strip() else []
    try:
        reader = csv.reader([text], delimiter=delimiter, strict=True, skipinitialspace=delimiter != "\t")
        return next(reader, [])
    except csv.Error as cause:
        code: Code = "too_long" if "field larger" in str(cause) else "syntax"
        raise Refused(f"no CSV record ({cause})", code) from cause


_HEADERS = {("subject", "relation", "object"), ("subject", "predicate", "object")}


class TsvReader(Reader):
    _is_first = True

    def read_line(self, text: str, number: int) -> Iterator[Result]:
        if not text.strip(" \r"):
            return
        is_first, self._is_first = self._is_first, False
        columns = text.split("\t")
        if len(columns) != TABS + 1:
            plural = "s" * (len(columns) > 1)
            raise Refused(f"{len(columns)} column{plural} instead of {TABS + 1}", "columns")
        # Some programs write the names of the columns first, which are not a fact.
        if is_first and tuple(name.strip().casefold() for name in columns) in _HEADERS:
            raise Skipped("header")
        subject, relation, object = columns
        name = clean("subject", subject)
        yield Row("fact", name, clean_relation(relation), clean("object", object), "", number, False)
