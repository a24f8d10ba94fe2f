"""A knowledge-graph file being read: bytes go in, as they arrive and however they are cut; rows come out.

What is held is bounded: a block, one line of the format's greatest length, and for CSV one record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from service.graph.formats.csv_table import TableReader
from service.graph.formats.detect import check_readable, detect, may_be_comment
from service.graph.formats.gunzip import Gunzip
from service.graph.formats.lines import Lines
from service.graph.formats.ntriples import NTriplesReader
from service.graph.formats.row import LINE_BYTES, GraphFileError, Line, LongLine, Read, Reader
from service.graph.formats.text import fitting
from service.graph.formats.tsv import TsvReader
from service.graph.formats.wikidata import WikidataReader

READERS: dict[str, type[Reader]] = {
    "tsv": TsvReader,
    "csv": TableReader,
    "nt": NTriplesReader,
    "wikidata": WikidataReader,
}
_MOST_UNTOLD_BYTES = 1_000_000  # of comments, before the file is taken for N-Triples


class GraphFileReader:
    """format: the one that was named, or was detected once enough was read; until then None.

    Both methods do their work while they are iterated: go through all that one gives before calling the next.
    After a GraphFileError the reading is over.
    """

    def __init__(self, format: str | None = None, language: str = "en") -> None:
        if format is not None and format not in READERS:
            raise GraphFileError(f"there is no format '{format}': choose one of {', '.join(READERS)}")
        self.format = format
        self._language = language
        self._gunzip = Gunzip()
        self._lines = Lines((READERS[format] if format else WikidataReader).most_bytes)
        self._reader: Reader | None = None
        self._untold: list[Line] = []  # lines that do not tell the format
        self._untold_bytes = 0

    @property
    def lines(self) -> int:
        """How many were read so far, counted as editors count them."""
        return self._lines.count

    @property
    def left_out(self) -> Counter[str]:
        """What is fine but not taken, by why."""
        return self._reader.left_out if self._reader else Counter()

    def feed(self, data: bytes) -> Iterator[Read]:
        for block in self._gunzip.feed(data):
            yield from self._read(self._lines.feed(block))

    def finish(self) -> Iterator[Read]:
        for block in self._gunzip.finish():
            yield from self._read(self._lines.feed(block))
        yield from self._read(self._lines.finish())
        if self._reader is None:
            yield from self._begin(self._format_of_the_untold())
        if self._reader is not None:
            yield from self._reader.end()

    def _read(self, lines: Iterator[Line]) -> Iterator[Read]:
        """The first line that says something settles the format; what came before it is read then, too."""
        while self._reader is None:
            line = next(lines, None)
            if line is None:
                return
            if isinstance(line[1], LongLine) or line[1].strip():
                format = self._told_by(line)
                self._untold.append(line)
                if format:
                    yield from self._begin(format)
        yield from self._reader.read(lines)

    def _begin(self, format: str) -> Iterator[Read]:
        reader = READERS[format](self._language)
        self.format, self._reader = format, reader
        self._lines.most_bytes = reader.most_bytes
        held, self._untold = self._untold, []
        yield from reader.read(_fitting(held, reader.most_bytes))

    def _told_by(self, line: Line) -> str | None:
        """The format, where this line tells it or it was named; None to look at the next line."""
        content = line[1]
        if isinstance(content, LongLine):
            if self.format is None:
                raise GraphFileError("the format cannot be told, the first line is too long: name the format")
            return self.format
        check_readable(content)
        if self.format:
            return self.format
        self._untold_bytes += len(content) + LINE_BYTES
        if not may_be_comment(content):
            return detect(content)
        return "nt" if self._untold_bytes > _MOST_UNTOLD_BYTES else None

    def _format_of_the_untold(self) -> str:
        if self.format is None and not self._untold:
            raise GraphFileError("the file is empty: there is nothing to tell its format by")
        return self.format or "nt"


def _fitting(lines: Iterable[Line], most_bytes: int) -> Iterator[Line]:
    return (fitting(line, most_bytes) for line in lines)
