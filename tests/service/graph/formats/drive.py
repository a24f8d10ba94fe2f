"""Reading a whole file at once, or in pieces, and keeping all that came of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from service.graph.formats import GraphFileReader, Rejected, Row


@dataclass(frozen=True)
class Result:
    format: str | None
    lines: int
    left_out: dict[str, int]
    out: tuple[Row | Rejected, ...]

    @property
    def rows(self) -> list[Row]:
        return [one for one in self.out if isinstance(one, Row)]

    @property
    def facts(self) -> list[tuple[str, str, str]]:
        return [
            (row.subject, row.relation, row.object or row.object_id)
            for row in self.rows
            if row.kind == "fact"
        ]

    @property
    def bad(self) -> list[tuple[int, str]]:
        return [(one.line, one.code) for one in self.out if isinstance(one, Rejected)]

    @property
    def reasons(self) -> list[str]:
        return [one.reason for one in self.out if isinstance(one, Rejected)]


def read(data: bytes | str, format: str | None = None, language: str = "en") -> Result:
    return read_in([data.encode() if isinstance(data, str) else data], format, language)


def read_in(pieces: Iterable[bytes], format: str | None = None, language: str = "en") -> Result:
    reading = GraphFileReader(format, language)
    out = [one for piece in pieces for one in reading.feed(piece)]
    out += reading.finish()
    return Result(reading.format, reading.lines, dict(reading.left_out), tuple(out))


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """The data in pieces, cut at these places."""
    marks = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(marks)]
