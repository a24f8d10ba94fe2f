"""Reads a whole file at once, or in pieces, and keeps all results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from service.graph.formats.reader import GraphFileReader
from service.graph.formats.row import Rejection, Row


@dataclass(frozen=True)
class Output:
    format: str | None
    lines: int
    skipped: dict[str, int]
    results: tuple[Row | Rejection, ...]

    @property
    def rows(self) -> list[Row]:
        return [result for result in self.results if isinstance(result, Row)]

    @property
    def facts(self) -> list[tuple[str, str, str]]:
        return [
            (row.subject, row.relation, row.object or row.object_id)
            for row in self.rows
            if row.kind == "fact"
        ]

    @property
    def bad(self) -> list[tuple[int, str]]:
        return [(result.line, result.code) for result in self.results if isinstance(result, Rejection)]

    @property
    def reasons(self) -> list[str]:
        return [result.reason for result in self.results if isinstance(result, Rejection)]


def read(data: bytes | str, format: str | None = None, language: str = "en") -> Output:
    return read_in([data.encode() if isinstance(data, str) else data], format, language)


def read_in(pieces: Iterable[bytes], format: str | None = None, language: str = "en") -> Output:
    reader = GraphFileReader(format, language)
    results = [result for piece in pieces for result in reader.feed(piece)]
    results += reader.finish()
    return Output(reader.format, reader.lines, dict(reader.skipped), tuple(results))


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """Return the data in pieces, cut at these places."""
    marks = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(marks)]
