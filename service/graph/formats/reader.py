"""Reads a knowledge-graph file, and yields rows; a packed file is unpacked on the way.

Memory is bounded: a block, one line of the format's greatest length, and for CSV one record. A line too long to hold is
only counted. Gzip is recognised by its first two bytes (RFC 1952, section 2.3.1), never by a file's name.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from errata.tables.delimiter import DECLARATION
from errata.tables.limits import FREE_BYTES, IMPORT_SECONDS, MAX_RATIO, MAX_UNPACKED_BYTES
from errata.tables.workbook import NOT_READ, OLE, ZIP, WorkbookError

from service.errors import TooLarge
from service.extraction.process import read_rows
from service.graph.formats.ntriples import NTriplesReader, is_results
from service.graph.formats.rdf import HEAD_BYTES, SYNTAXES, RdfReader, find_syntax
from service.graph.formats.row import (
    LINE_BYTES,
    GraphFileError,
    Line,
    LongLine,
    Reader,
    Refused,
    Result,
    excerpt,
)
from service.graph.formats.table import TABS, TableReader, header_name
from service.graph.formats.tables import CsvReader, TsvReader
from service.graph.formats.wikidata import WikidataReader

BYTE_ORDER_MARK, LINE_FEED = b"\xef\xbb\xbf", 0x0A
MAGIC = b"\x1f\x8b"
BLOCK_BYTES = 1 << 17  # largest piece that is unpacked at once, whatever size a file claims to unpack to


class Lines:
    """The lines of an open file.

    Attributes:
        max_bytes: Size of the longest line that is held; it may be lowered between lines.
    """

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        self._file, self.max_bytes, self.count = file, max_bytes, 0

    def __iter__(self) -> Iterator[Line]:
        readline, number = self._file.readline, 0
        while line := readline(self.max_bytes + 1):
            self.count = number = number + 1
            if line[-1] == LINE_FEED:
                line = line[:-1]
            elif len(line) > self.max_bytes:
                yield number, LongLine(line.count(b'"') + self._pass_rest())
                continue
            yield number, line if number > 1 else line.removeprefix(BYTE_ORDER_MARK)

    def _pass_rest(self) -> int:
        """Read to the end of a line, and count its quotes."""
        n_quotes = 0
        while piece := self._file.readline(BLOCK_BYTES):
            n_quotes += piece.count(b'"')
            if piece.endswith(b"\n"):
                break
        return n_quotes


def open_unpacked(file: BinaryIO) -> BinaryIO:
    """Return the content of a file from its beginning."""
    file.seek(0)
    is_packed = file.read(len(MAGIC)) == MAGIC
    file.seek(0)
    return cast(BinaryIO, io.BufferedReader(_GzipContent(file), BLOCK_BYTES)) if is_packed else file


class _GzipContent(io.RawIOBase):
    """The content of a packed file.

    Raises:
        GraphFileError: The file is damaged, or cut short.
        TooLarge: It has far more bytes than the packed ones.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._gzip, self._n_bytes = file, gzip.GzipFile(fileobj=file), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._gzip.read(min(len(buffer), BLOCK_BYTES))
        except EOFError as cause:
            raise GraphFileError("the gzip file is cut short: its end is missing; send it again") from cause
        except (OSError, zlib.error) as cause:
            raise GraphFileError(f"the gzip file is damaged ({cause}); send it again") from cause
        self._n_bytes += len(data)
        if self._n_bytes > FREE_BYTES + MAX_RATIO * self._file.tell():
            detail = f"the gzip file unpacks to more than {MAX_RATIO} times its bytes: send it unpacked"
            raise TooLarge(detail, limit=MAX_RATIO)
        buffer[: len(data)] = data
        return len(data)


READERS: dict[str, type[Reader]] = {
    "tsv": TsvReader,
    "csv": CsvReader,
    "xlsx": TableReader,
    "nt": NTriplesReader,
    "nq": NTriplesReader,
    **dict.fromkeys(SYNTAXES, RdfReader),
    "wikidata": WikidataReader,
}
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

    def read(self, file: BinaryIO) -> Iterator[Result]:
        if self.format is None:
            start = open_unpacked(file).read(HEAD_BYTES)
            self.format = "xlsx" if start.startswith(ZIP) else None if self._subject else find_syntax(start)
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


_TRIPLE = re.compile(rb"\s*(<[A-Za-z][\w+.-]*:[^<>\s]*>|_:[^\s<]+)\s*<")
_VERSION = re.compile(rb"\s*VERSION\s+[\"']")
_DUMP = re.compile(rb"\s*(\[\s*)?(\{|$)|\s*\[\s*\]?\s*$")
_FOREIGN = {
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
    b"\x1f\x8b": "packed by gzip twice: unpack it once",
    OLE: f"an {NOT_READ}",
    ZIP: "an Excel workbook, or another zip archive: name the format xlsx, or none",
    b"BZh": "packed by bzip2: unpack it first",
    b"\xfd7zXZ": "packed by xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "packed by zstd: unpack it first",
}


def check_readable(line: bytes) -> None:
    """Raise GraphFileError if the first line of a file shows a format that no reader knows."""
    for magic, kind in _FOREIGN.items():
        if line.startswith(magic):
            raise GraphFileError(f"the file is {kind}")


def may_be_comment(line: bytes) -> bool:
    """Return True for a line that N-Triples would skip, so that it does not settle the format."""
    return line.lstrip().startswith(b"#") and line.count(b"\t") != TABS


def names_columns(line: bytes) -> bool:
    """Return whether a line with tabs names the three columns of facts, in any order, so that it heads a table."""
    names = {header_name(cell.strip().strip('"')) for cell in line.decode(errors="replace").split("\t")}
    return "subject" in names and "object" in names and bool(names & {"relation", "predicate"})


def detect(line: bytes) -> str:
    """Return the format of a file that begins with this line; raise GraphFileError if it is unclear."""
    if _TRIPLE.match(line) or _VERSION.match(line) or is_results(line.decode(errors="replace")):
        return "nt"
    if {"node1", "label", "node2"} <= {cell.strip() for cell in line.decode(errors="replace").split("\t")}:
        raise GraphFileError(
            "the file is KGTK's: name its columns subject, relation and object in place of node1, label and node2, "
            "or write N-Triples (kgtk generate-wikidata-triples)"
        )
    if names_columns(line):
        return "csv"
    tabs = line.count(b"\t")
    if tabs != TABS and _DUMP.match(line):
        return "wikidata"
    text = line.decode(errors="replace")
    marks = ",;" if tabs == TABS else ",;\t"  # a header with three columns is one of tsv
    cells = [cell.strip().strip('"') for mark in marks for cell in text.split(mark)]
    if DECLARATION.match(text) or "subject" in map(header_name, cells):
        return "csv"
    if tabs == TABS:
        return "tsv"
    raise GraphFileError(
        f"the first line, '{excerpt(text)}', does not show the format: name it ({', '.join(READERS)}), "
        "or begin with a header that has a column 'subject'; of a table with a row for each thing, name the column "
        "with its name (`subject`, --subject)"
    )
