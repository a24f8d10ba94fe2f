"""Facts out of a CSV table, whose header says which column is which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from service.graph.formats.detect import header_name
from service.graph.formats.records import MOST_BYTES, Record, Records
from service.graph.formats.row import GraphFileError, Line, Read, Refused, Rejected, Row
from service.graph.formats.text import clean, clean_id, clean_relation, shown

_NEEDED = {"subject": ("subject",), "relation": ("relation", "predicate"), "object": ("object",)}


@dataclass(frozen=True, slots=True)
class Columns:
    """Where in a record each thing stands. width: how many fields a record has."""

    width: int
    subject: int
    relation: int
    object: int
    subject_id: int | None
    object_id: int | None

    @staticmethod
    def of(header: list[str]) -> Columns:
        """GraphFileError names what is missing."""
        names = [header_name(cell) for cell in header]
        twice = sorted(n for n, times in Counter(names).items() if times > 1 and n in _USED)
        if twice:
            raise GraphFileError(
                f"the CSV header names {', '.join(twice)} twice: keep one column of that name"
            )
        found = {key: next((n for n in named if n in names), None) for key, named in _NEEDED.items()}
        missing = [key for key, name in found.items() if name is None]
        if missing:
            raise GraphFileError(
                f"the CSV header lacks {', '.join(missing)}: it needs the columns subject, relation and object, "
                f"with commas between them, and is '{shown(','.join(header))}'"
            )
        needed = [names.index(name) for name in found.values() if name is not None]
        ids = [names.index(key) if key in names else None for key in ("subject_id", "object_id")]
        return Columns(len(header), *needed, *ids)


_USED = {"subject", "relation", "predicate", "object", "subject_id", "object_id"}


class TableReader:
    most_bytes = MOST_BYTES

    def __init__(self, language: str) -> None:
        self.left_out: Counter[str] = Counter()
        self._records = Records()
        self._columns: Columns | None = None
        self._named: tuple[str, str] | None = None

    def read(self, lines: Iterable[Line]) -> Iterator[Read]:
        for record in self._records.read(lines):
            yield from self._rows(record)

    def end(self) -> Iterator[Read]:
        for record in self._records.end():
            yield from self._rows(record)
        if self._columns is None:
            Columns.of([])

    def _rows(self, record: Record | Rejected) -> Iterator[Read]:
        if self._columns is None:
            if isinstance(record, Rejected):
                raise GraphFileError(f"the CSV header cannot be read: {record.reason}")
            self._columns = Columns.of(record.fields)
        elif isinstance(record, Rejected):
            yield record
        else:
            try:
                yield from self._facts(self._columns, record)
            except Refused as refused:
                yield refused.at(record.line)

    def _facts(self, columns: Columns, record: Record) -> Iterator[Row]:
        """The fact, and before it the name of a subject that is known by its id."""
        line, fields = record
        if len(fields) != columns.width:
            raise Refused(f"{len(fields)} fields instead of {columns.width}, as the header has", "columns")
        name = clean("subject", fields[columns.subject])
        relation = clean_relation(fields[columns.relation])
        told = clean("object", fields[columns.object])
        object_id = _id("object_id", columns.object_id, fields)
        subject_id = _id("subject_id", columns.subject_id, fields)
        if subject_id and self._named != (subject_id, name):
            self._named = (subject_id, name)
            yield Row("label", subject_id, "", name, "", line, True)
        yield Row("fact", subject_id or name, relation, told, object_id, line, bool(subject_id))


def _id(field: str, column: int | None, fields: list[str]) -> str:
    raw = "" if column is None else fields[column]
    return clean_id(field, raw) if raw.strip() else ""
