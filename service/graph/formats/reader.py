"""Reads a knowledge-graph file, and yields rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from tempfile import TemporaryFile
from typing import BinaryIO

from errata.tables.limits import IMPORT_SECONDS, MAX_UNPACKED_BYTES
from errata.tables.workbook import ZIP, WorkbookError

from service.extraction.process import read_rows
from service.graph.formats.base import Reader
from service.graph.formats.detection import check_readable, detect, may_be_comment, names_columns
from service.graph.formats.lines import BLOCK_BYTES, Lines, open_unpacked
from service.graph.formats.rdf import HEAD_BYTES, RESULTS_TABLE, SYNTAXES, RdfReader, find_syntax
from service.graph.formats.readers import READERS
from service.graph.formats.row import LINE_BYTES, GraphFileError, Line, LongLine, Refused, Result
from service.graph.formats.table import TableReader
from service.graph.formats.tables import CsvReader
from service.graph.formats.wikidata import WikidataReader

_TABLES = ("csv", "xlsx")
# Bytes of comments at the beginning, beyond which the format is taken for N-Triples
_MAX_COMMENT_BYTES = 1_000_000


class GraphFileReader:
    """Reads one file; its `format` may be given, otherwise it is None until it is detected."""

    def __init__(
        self,
        format: str | None = None,
        language: str = "en",
        subject: str = "",
        sheet: str = "",
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Check the description of a file.

        Args:
            format: Its format; None to detect it.
            language: Language of the labels that are taken.
            subject: Heading of the column with the names of things, of a table with a row for each.
            sheet: Name of the sheet of a workbook; "" for its only one.
            columns: Relations of columns that are not called as their heading is; "" leaves a column out.
        """
        if subject and format not in (None, *_TABLES):
            raise GraphFileError(
                f"a table has a column {subject!r}, and the format is {format}: leave one out"
            )
        if format is not None and format not in READERS:
            raise GraphFileError(f"there is no format '{format}': choose one of {', '.join(READERS)}")
        self.format = format
        self._language, self._subject, self._sheet, self._columns = language, subject, sheet, columns
        self.scope = ""  # name of the document, for its blank nodes
        self._lines: Lines | None = None
        self._reader: Reader | None = None
        self._last_row = 0

    @property
    def lines(self) -> int:
        """Number of lines so far, as text editors count; of a workbook, of the last row; of RDF, of statements."""
        return self._lines.count if self._lines else self._last_row

    @property
    def skipped(self) -> Counter[str]:
        """Counts of well-formed statements that are not used, by reason."""
        return self._reader.skipped if self._reader else Counter()

    @property
    def relations(self) -> Mapping[str, str]:
        """Ids that are relations, with their names."""
        return self._reader.relations if self._reader else {}

    @property
    def aside(self) -> Mapping[str, str]:
        """Ids whose statements are left out, with the reason."""
        return self._reader.aside if self._reader else {}

    @property
    def unread(self) -> tuple[str, ...]:
        """Headings of the columns of a table that nothing reads."""
        return self._reader.unread if self._reader else ()

    def read(self, file: BinaryIO) -> Iterator[Result]:
        if self.format in (None, "csv"):
            start = open_unpacked(file).read(HEAD_BYTES)
            syntax = None if self._subject else find_syntax(start)
            if self.format is None or syntax == RESULTS_TABLE:  # results are CSV, too
                self.format = "xlsx" if start.startswith(ZIP) else syntax
        data = open_unpacked(file)
        if self.format == "xlsx":
            yield from self._read_workbook(data)
            return
        if self.format in SYNTAXES:
            self._reader = rdf = RdfReader(self._language, self.format)
            rdf.scope = self.scope
            for result in rdf.read_file(data):
                self._last_row = rdf.count
                yield result
            return
        self._lines = lines = Lines(
            data, (READERS[self.format] if self.format else WikidataReader).max_line_bytes
        )
        rest = iter(lines)
        self.format, head = self._find_format(rest)
        if self.format == "csv":
            self._reader = CsvReader(self._language, self._subject, self._columns)
        else:
            self._reader = READERS[self.format](self._language)
        self._reader.scope = self.scope
        limit = lines.max_bytes = self._reader.max_line_bytes
        for place, (number, content) in enumerate(head):
            if isinstance(content, bytes) and len(content) > limit:
                head[place] = number, LongLine(content.count(b'"'))
        yield from self._reader.read(chain(head, rest))
        yield from self._reader.end()

    def _find_format(self, lines: Iterator[Line]) -> tuple[str, list[Line]]:
        """Return the format, by the first line that is no comment, and the lines up to there that are not empty."""
        format, n_bytes = self.format or ("csv" if self._subject else None), 0
        head: list[Line] = []
        for number, content in lines:
            if isinstance(content, LongLine):
                if format is None:
                    raise GraphFileError("the first line is too long to show the format: name the format")
            elif not content.strip():
                continue
            else:
                check_readable(content)
                n_bytes += len(content) + LINE_BYTES
                if format in (None, "tsv") and not may_be_comment(content):
                    format = detect(content) if format is None or names_columns(content) else format
                elif format is None and n_bytes > _MAX_COMMENT_BYTES:
                    format = "nt"
            head.append((number, content))
            if format is not None:
                break
        if format is None and not head:
            raise GraphFileError("the file is empty: name its format, or send a file with facts")
        return format or "nt", head

    def _read_workbook(self, data: BinaryIO) -> Iterator[Result]:
        self._reader = reader = TableReader(self._language, self._subject, self._columns)
        width = 0
        with TemporaryFile() as workbook:  # a packed one is unpacked: its beginning is read after its end
            while block := data.read(BLOCK_BYTES):
                if workbook.tell() + len(block) > MAX_UNPACKED_BYTES:
                    limit = f"a workbook may have {MAX_UNPACKED_BYTES:,} bytes"
                    raise GraphFileError(f"{limit}: save the sheet as CSV")
                workbook.write(block)
            try:
                for number, texts in read_rows(workbook, self._sheet, IMPORT_SECONDS, reader.skipped):
                    self._last_row, width = number, width or len(texts)
                    try:
                        yield from reader.read_record(texts + [""] * (width - len(texts)), number)
                    except Refused as refused:
                        yield refused.at(number)
            except WorkbookError as error:
                raise GraphFileError(str(error)) from error
        yield from reader.end()
