"""Reads a knowledge-graph file: it takes bytes as they arrive, however they are cut, and yields rows.

Memory is bounded: a block, one line of the format's greatest length, and for CSV one record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from service.graph.formats.base import Reader
from service.graph.formats.csv_table import CsvReader
from service.graph.formats.detect import check_readable, detect, may_be_comment
from service.graph.formats.gunzip import Gunzip
from service.graph.formats.lines import Lines
from service.graph.formats.ntriples import NTriplesReader
from service.graph.formats.row import LINE_BYTES, GraphFileError, Line, LongLine, Result
from service.graph.formats.tsv import TsvReader
from service.graph.formats.wikidata import WikidataReader

READERS: dict[str, type[Reader]] = {
    "tsv": TsvReader,
    "csv": CsvReader,
    "nt": NTriplesReader,
    "wikidata": WikidataReader,
}
_MAX_COMMENT_BYTES = (
    1_000_000  # bytes of comments at the beginning, beyond which the format is taken for N-Triples
)


class GraphFileReader:
    """Reads one file; its `format` may be given, otherwise it is None until it is detected.

    Both methods are generators: exhaust one before the next call. After a GraphFileError reading cannot continue.
    """

    def __init__(self, format: str | None = None, language: str = "en", subject: str = "") -> None:
        """Begin a file.

        Args:
            format: Its format; None to detect it.
            language: Language of the labels that are taken.
            subject: Heading of the column with the names of things, of a CSV table with a row for each.
        """
        if subject and format not in (None, "csv"):
            raise GraphFileError(
                f"a table has a column {subject!r}, and the format is {format}: leave one out"
            )
        format = "csv" if subject else format
        if format is not None and format not in READERS:
            raise GraphFileError(f"there is no format '{format}': choose one of {', '.join(READERS)}")
        self.format = format
        self._language, self._subject = language, subject
        self._gunzip = Gunzip()
        self._lines = Lines((READERS[format] if format else WikidataReader).max_line_bytes)
        self._reader: Reader | None = None
        self._comments: list[Line] = []  # lines that do not determine the format
        self._comment_bytes = 0

    @property
    def lines(self) -> int:
        """Number of lines so far, counted as text editors do."""
        return self._lines.count

    @property
    def skipped(self) -> Counter[str]:
        """Counts of well-formed statements that are not used, by reason."""
        return self._reader.skipped if self._reader else Counter()

    def feed(self, data: bytes) -> Iterator[Result]:
        for block in self._gunzip.feed(data):
            yield from self._read(self._lines.feed(block))

    def finish(self) -> Iterator[Result]:
        for block in self._gunzip.finish():
            yield from self._read(self._lines.feed(block))
        yield from self._read(self._lines.finish())
        if self._reader is None:
            if self.format is None and not self._comments:
                raise GraphFileError("the file is empty: name its format, or send a file with facts")
            yield from self._begin(self.format or "nt")
        if self._reader is not None:
            yield from self._reader.end()

    def _read(self, lines: Iterator[Line]) -> Iterator[Result]:
        """Read lines; the first that determines the format creates the reader, which then reads the lines before it."""
        while self._reader is None:
            line = next(lines, None)
            if line is None:
                return
            content, format = line[1], self.format
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
        is_wide = self._subject != "" and format == "csv"
        reader = CsvReader(self._language, self._subject) if is_wide else READERS[format](self._language)
        self.format, self._reader = format, reader
        self._lines.max_bytes = reader.max_line_bytes
        lines, self._comments = self._comments, []
        for number, content in lines:
            if isinstance(content, bytes) and len(content) > reader.max_line_bytes:
                content = LongLine(content.count(b'"'))
            yield from reader.read([(number, content)])
