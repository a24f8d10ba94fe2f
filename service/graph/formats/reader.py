"""Reads a knowledge-graph file: it takes bytes as they arrive, however they are cut, and yields rows.

Memory is bounded: a block, one line of the format's greatest length, and for CSV one record. An Excel workbook, whose
beginning can only be read when its end is there, is kept on the disk until then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from tempfile import TemporaryFile
from typing import BinaryIO

from errata.tables.workbook import MAX_UNPACKED_BYTES, ZIP, WorkbookError, read_sheet

from service.graph.formats.detect import check_readable, detect, may_be_comment
from service.graph.formats.lines import Gunzip, Lines
from service.graph.formats.ntriples import NTriplesReader
from service.graph.formats.row import LINE_BYTES, GraphFileError, Line, LongLine, Reader, Refused, Result
from service.graph.formats.table import TableReader
from service.graph.formats.tables import CsvReader, TsvReader
from service.graph.formats.wikidata import WikidataReader

READERS: dict[str, type[Reader]] = {
    "tsv": TsvReader,
    "csv": CsvReader,
    "xlsx": TableReader,
    "nt": NTriplesReader,
    "wikidata": WikidataReader,
}
_TABLES = ("csv", "xlsx")
_MAX_COMMENT_BYTES = (
    1_000_000  # bytes of comments at the beginning, beyond which the format is taken for N-Triples
)


class GraphFileReader:
    """Reads one file; its `format` may be given, otherwise it is None until it is detected.

    Both methods are generators: exhaust one before the next call. After a GraphFileError reading cannot continue.
    """

    def __init__(
        self,
        format: str | None = None,
        language: str = "en",
        subject: str = "",
        sheet: str = "",
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Begin a file.

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
        self._gunzip = Gunzip()
        self._lines = Lines((READERS[format] if format else WikidataReader).max_line_bytes)
        self._reader: Reader | None = None
        self._comments: list[Line] = []  # lines that do not determine the format
        self._comment_bytes = 0
        self._head: bytes | None = b""  # the first bytes, until they tell whether the file is a workbook
        self._workbook: BinaryIO | None = None
        self._last_row = 0

    @property
    def lines(self) -> int:
        """Number of lines so far, counted as text editors do; of a workbook, of the last row."""
        return self._last_row or self._lines.count

    @property
    def skipped(self) -> Counter[str]:
        """Counts of well-formed statements that are not used, by reason."""
        return self._reader.skipped if self._reader else Counter()

    def feed(self, data: bytes) -> Iterator[Result]:
        for block in self._gunzip.feed(data):
            yield from self._take(block)

    def _take(self, block: bytes, is_last: bool = False) -> Iterator[Result]:
        """Read a block as lines, or keep it where the file is a workbook."""
        if self._head is not None:
            self._head += block
            if len(self._head) < len(ZIP) and not is_last:
                return
            block, self._head = self._head, None
            if self.format == "xlsx" or (self.format is None and block.startswith(ZIP)):
                self.format, self._workbook = "xlsx", TemporaryFile()  # noqa: SIM115 - it is closed with the last row
        if self._workbook is None:
            yield from self._read(self._lines.feed(block))
        elif self._workbook.tell() + len(block) > MAX_UNPACKED_BYTES:
            raise GraphFileError(f"a workbook may have {MAX_UNPACKED_BYTES:,} bytes: save the sheet as CSV")
        else:
            self._workbook.write(block)

    def _read_workbook(self, workbook: BinaryIO) -> Iterator[Result]:
        self._reader = reader = TableReader(self._language, self._subject, self._columns)
        width = 0
        try:
            for number, texts in read_sheet(workbook, self._sheet):
                self._last_row, width = number, width or len(texts)
                try:
                    yield from reader.read_record(texts + [""] * (width - len(texts)), number)
                except Refused as refused:
                    yield refused.at(number)
        except WorkbookError as error:
            raise GraphFileError(str(error)) from error

    def finish(self) -> Iterator[Result]:
        for block in self._gunzip.finish():
            yield from self._take(block)
        yield from self._take(b"", is_last=True)
        if self._workbook is not None:
            with self._workbook:
                yield from self._read_workbook(self._workbook)
        yield from self._read(self._lines.finish())
        if self._reader is None:
            format = self.format or ("csv" if self._subject else None)
            if format is None and not self._comments:
                raise GraphFileError("the file is empty: name its format, or send a file with facts")
            yield from self._begin(format or "nt")
        if self._reader is not None:
            yield from self._reader.end()

    def _read(self, lines: Iterator[Line]) -> Iterator[Result]:
        """Read lines; the first that determines the format creates the reader, which then reads the lines before it."""
        while self._reader is None:
            line = next(lines, None)
            if line is None:
                return
            content, format = line[1], self.format or ("csv" if self._subject else None)
            if isinstance(content, LongLine):
                if format is None:
                    reason = "the first line is too long to show the format"
                    raise GraphFileError(f"{reason}: name the format")
            elif not content.strip():
                continue
            else:
                check_readable(content)
                if format is None:
                    self._comment_bytes += len(content) + LINE_BYTES
                    if not may_be_comment(content):
                        format = detect(content)
                    elif self._comment_bytes > _MAX_COMMENT_BYTES:
                        format = "nt"
            self._comments.append(line)
            if format:
                yield from self._begin(format)
        yield from self._reader.read(lines)

    def _begin(self, format: str) -> Iterator[Result]:
        if format == "csv":
            reader: Reader = CsvReader(self._language, self._subject, self._columns)
        else:
            reader = READERS[format](self._language)
        self.format, self._reader = format, reader
        self._lines.max_bytes = reader.max_line_bytes
        lines, self._comments = self._comments, []
        for number, content in lines:
            if isinstance(content, bytes) and len(content) > reader.max_line_bytes:
                content = LongLine(content.count(b'"'))
            yield from reader.read([(number, content)])
