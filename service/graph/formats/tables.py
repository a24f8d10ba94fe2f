"""The records of a CSV table (RFC 4180), with commas, semicolons or tabs between its columns.

A quoted field may hold line ends, so a record may be many lines. A quote that is never closed swallows all later
records, so the file is refused at the line that opens it: the intended end of the record is unknown.

Facts by name: subject, tab, relation, tab, object, as K-BERT's `.spo` files hold them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain

from errata.tables.delimiter import DECLARATION, find_delimiter

from service.graph.formats.base import Reader
from service.graph.formats.cleaning import clean, clean_relation, decode
from service.graph.formats.row import LINE_BYTES, GraphFileError, Line, LongLine, Refused, Result, Row
from service.graph.formats.table import TABS, TableReader

MAX_RECORD_BYTES = 1_000_000
csv.field_size_limit(MAX_RECORD_BYTES)

_RAW_UTF8 = "surrogateescape"  # error handler that keeps bytes that are not UTF-8
_MEND = "close it there, and write a quote that belongs to a text twice"


class CsvReader(TableReader):
    """Reads CSV. A bad record is rejected alone; quotes that do not pair up end the file."""

    max_line_bytes = MAX_RECORD_BYTES

    def read(self, lines: Iterable[Line]) -> Iterator[Result]:
        rest = iter(lines)
        first = next((line for line in rest if isinstance(line[1], LongLine) or line[1].strip()), None)
        head = first[1].decode(errors=_RAW_UTF8) if first and isinstance(first[1], bytes) else ""
        mark = find_delimiter(head)
        record = _Record(rest if first is None or DECLARATION.match(head) else chain([first], rest))
        rows = csv.reader(record, delimiter=mark, strict=True, skipinitialspace=mark != "\t")
        while True:
            record.lines.clear()
            try:
                fields = record.read(rows)
                if fields is None:
                    return
                yield from self.read_record(fields, record.start)
            except Refused as refused:
                if self.columns is None:
                    raise GraphFileError(
                        f"the header of the table cannot be read: {refused.reason}"
                    ) from refused
                if len(record.lines) > 1 and refused.code == "syntax":
                    raise GraphFileError(
                        f"the quotes of the record at line {record.start} do not pair up ({refused.reason}): {_MEND}"
                    ) from refused
                yield refused.at(record.start)


class _Record:
    """The lines of a table, of which a reader of CSV takes as many as a record has."""

    def __init__(self, rest: Iterator[Line]) -> None:
        self._rest, self.start, self._n_bytes = rest, 0, 0
        self.lines: list[bytes | LongLine] = []  # lines of the current record

    def __iter__(self) -> Iterator[str]:
        for number, content in self._rest:
            if not self.lines:
                self.start, self._n_bytes = number, 0
            elif self._n_bytes > MAX_RECORD_BYTES:
                raise GraphFileError(
                    f"a quote that is opened in the record at line {self.start} is not closed within "
                    f"{MAX_RECORD_BYTES:,} bytes: {_MEND}"
                )
            self.lines.append(content)
            self._n_bytes += LINE_BYTES
            if isinstance(content, LongLine):
                yield '"' * (content.quotes % 2) + "\n"
            else:
                self._n_bytes += len(content)
                yield content.decode(errors=_RAW_UTF8).removesuffix("\r").replace("\r", " ") + "\n"

    def read(self, rows: Iterator[list[str]]) -> list[str] | None:
        """Return the fields of the next record; None at the end. An empty line has none."""
        error: csv.Error | None = None
        fields: list[str] | None = []
        try:
            fields = next(rows, None)
        except csv.Error as cause:
            if "end of data" in str(cause):
                raise GraphFileError(
                    f"a quote that is opened in the record at line {self.start} is never closed: {_MEND}"
                ) from cause
            error = cause
        for line in self.lines:
            if "\r" in decode(line):
                raise Refused("the control character U+000D stands within a line", "control")
        if error is not None:
            raise Refused(f"no CSV record ({error})", "syntax") from error
        return fields


class TsvReader(Reader):
    def read_line(self, text: str, number: int) -> Iterator[Result]:
        if not text.strip(" \r"):
            return
        columns = text.split("\t")
        if len(columns) != TABS + 1:
            plural = "s" * (len(columns) > 1)
            raise Refused(f"{len(columns)} column{plural} instead of {TABS + 1}", "columns")
        subject, relation, object = columns
        name = clean("subject", subject)
        yield Row("fact", name, clean_relation(relation), clean("object", object), "", number, False)
