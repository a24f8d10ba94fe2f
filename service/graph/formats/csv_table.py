"""Facts from a CSV table (RFC 4180), whose header names the columns, with commas, semicolons or tabs between them.

A table has a row for each fact, with the columns subject, relation and object; or, where its subject's column is named,
a row for each thing and a column for each of its facts, whose heading is the relation.

A quoted field may hold line ends, so a record may be many lines. A quote that is never closed swallows all later
records, so the file is refused at the line that opens it: the intended end of the record is unknown.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from service.graph.formats.base import Reader
from service.graph.formats.detect import header_name
from service.graph.formats.row import LINE_BYTES, Code, GraphFileError, Line, LongLine, Refused, Result, Row
from service.graph.formats.text import clean, clean_id, clean_relation, decode, excerpt

MAX_RECORD_BYTES = 1_000_000

_REQUIRED_COLUMNS = {"subject": ("subject",), "relation": ("relation", "predicate"), "object": ("object",)}
_COLUMN_NAMES = {"subject", "relation", "predicate", "object", "subject_id", "object_id"}
_OPENINGS = {mark: re.compile(rf'(?:^|{mark}) *"') for mark in (",", ";", "\t")}
_FORMULA_ERROR = re.compile(r"#(?:REF|N/A|NAME|VALUE|DIV/0|NULL|NUM|SPILL|CALC)[!?]?", re.IGNORECASE)
MAX_COLUMNS = 256
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
                f"with commas, semicolons or tabs between them, and is '{excerpt(','.join(header))}'"
            )
        places = [names.index(name) for name in spelling.values() if name is not None]
        ids = [names.index(key) if key in names else None for key in ("subject_id", "object_id")]
        return Columns(len(header), *places, *ids)


@dataclass(frozen=True, slots=True)
class WideColumns:
    """The columns of a table with a row for each thing.

    Attributes:
        subject: Place of the column with its name.
        relations: Relation by the place of its column; columns without a heading are left out.
    """

    width: int
    subject: int
    relations: Mapping[int, str]

    @staticmethod
    def of(header: list[str], subject: str) -> WideColumns:
        """Find the columns in a header.

        Raises:
            GraphFileError: The subject's column is missing, or two have one heading, or there are too many.
            Refused: A heading cannot be the name of a relation.
        """
        names = [header_name(cell) for cell in header]
        if len(names) > MAX_COLUMNS:
            raise GraphFileError(
                f"the table has {len(names)} columns, and {MAX_COLUMNS} are the most: leave some out"
            )
        twice = sorted(name for name, times in Counter(filter(None, names)).items() if times > 1)
        if twice:
            raise GraphFileError(f"two columns are called {', '.join(twice)}: give each a heading of its own")
        if header_name(subject) not in names:
            raise GraphFileError(
                f"no column is called {subject!r}: the header is '{excerpt(', '.join(header))}'"
            )
        place = names.index(header_name(subject))
        relations = {n: clean_relation(cell) for n, cell in enumerate(header) if cell.strip() and n != place}
        if not relations:
            raise GraphFileError(f"there is no column beside {subject!r}: each further one is a fact")
        return WideColumns(len(header), place, relations)


class CsvReader(Reader):
    """Reads CSV. A bad record is rejected alone; quotes that do not pair up end the file.

    Attributes:
        subject: Heading of the column with the names of things, of a table with a row for each; "" for one of facts.
    """

    max_line_bytes = MAX_RECORD_BYTES

    def __init__(self, language: str, subject: str = "") -> None:
        super().__init__(language)
        self.subject = subject
        self._delimiter = ""
        self._columns: Columns | WideColumns | None = None
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
                if not self._delimiter and content.strip():
                    self._delimiter = find_delimiter(content.decode(errors=_RAW_UTF8))
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
        if self._columns is None:
            Columns.of([])
        return iter(())

    def _rows(self, record: list[bytes | LongLine]) -> Iterator[Result]:
        try:
            fields = _fields(record, self._delimiter or ",")
            if not fields or (self.subject and not any(map(str.strip, fields))):
                return
            if self._columns is None:
                self._columns = WideColumns.of(fields, self.subject) if self.subject else Columns.of(fields)
            elif isinstance(self._columns, WideColumns):
                yield from self._facts(self._columns, fields)
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

    def _facts(self, columns: WideColumns, fields: list[str]) -> Iterator[Result]:
        """Yield the facts of a row; an empty cell is none, and one that cannot be used is rejected alone."""
        if len(fields) != columns.width:
            raise Refused(f"{len(fields)} fields instead of {columns.width}, as the header has", "columns")
        name = clean("subject", fields[columns.subject])
        for place, relation in columns.relations.items():
            cell = fields[place]
            if not cell.strip():
                self.skipped["empty_cell"] += 1
                continue
            try:
                if _FORMULA_ERROR.fullmatch(cell.strip()):
                    raise Refused(
                        f"{relation} of {name} shows the error of a formula, {cell.strip()}", "syntax"
                    )
                yield Row("fact", name, relation, clean(relation, cell), "", self._start, False)
            except Refused as refused:
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


def find_delimiter(header: str) -> str:
    """Return the mark that stands most often between the columns of a header; the comma if none does."""
    return max(_OPENINGS, key=lambda mark: header.count(mark))


def in_quotes_after(line: str, in_quotes: bool, delimiter: str = ",") -> bool:
    """Return whether a quoted field continues after this line; `in_quotes` tells whether one does before it."""
    at = 0
    while True:
        quote = (_CLOSING.match if in_quotes else _OPENINGS[delimiter].search)(line, at)
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


def _id(field: str, column: int | None, fields: list[str]) -> str:
    raw = "" if column is None else fields[column]
    return clean_id(field, raw) if raw.strip() else ""
