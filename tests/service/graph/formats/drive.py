"""Reads a whole file, and keeps all results."""

from dataclasses import dataclass
from io import BytesIO

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
    reader = GraphFileReader(format, language)
    results = tuple(reader.read(BytesIO(data.encode() if isinstance(data, str) else data)))
    return Output(reader.format, reader.lines, dict(reader.skipped), results)
