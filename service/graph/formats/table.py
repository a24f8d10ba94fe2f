"""Facts from the records of a table, whatever file they come from; the first names the columns.

A table has a row for each fact, with the columns subject, relation and object; or, where its subject's column is named,
a row for each thing and a column for each of its facts, whose heading is the relation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from errata.tables.workbook import describe_fault

from models.graph.periods import UNKNOWN, find_bounds
from models.graph.statement import NO_QUALIFIERS
from service.graph.formats.base import Reader
from service.graph.formats.cleaning import clean, clean_id, clean_relation, excerpt
from service.graph.formats.row import GraphFileError, Refused, Result, Row

_REQUIRED_COLUMNS = {"subject": ("subject",), "relation": ("relation", "predicate"), "object": ("object",)}
# Columns of what qualifies a fact, dates first
_QUALIFIERS = {
    "from": ("from", "since", "begin"),
    "to": ("to", "until", "end"),
    "time": ("time",),
    "unit": ("unit",),
    "rank": ("rank",),
}
_COLUMN_NAMES = {"subject", "relation", "predicate", "object", "subject_id", "object_id", "source"} | {
    name for names in _QUALIFIERS.values() for name in names
}
# What a column of a table with a row for each thing is named that dates the facts of its row
PERIODS = "@from", "@to", "@time"
MAX_COLUMNS = 256
TABS = 2  # tabs between the three columns of a .spo line


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of the columns in a record of `width` fields."""

    width: int
    subject: int
    relation: int
    object: int
    subject_id: int | None
    object_id: int | None
    # Places of the columns from, to, time, unit and rank, where there are any of them
    qualifiers: tuple[int | None, ...] = ()
    source: int | None = None
    header: tuple[str, ...] = ()

    @staticmethod
    def of(header: list[str]) -> Columns:
        names = [header_name(cell) for cell in header]
        twice = sorted(n for n, times in Counter(names).items() if times > 1 and n in _COLUMN_NAMES)
        if twice:
            raise GraphFileError(
                f"the header of the table names {', '.join(twice)} twice: keep one column of that name"
            )
        spelling = {
            key: next((n for n in spellings if n in names), None)
            for key, spellings in _REQUIRED_COLUMNS.items()
        }
        missing = [key for key, name in spelling.items() if name is None]
        if missing:
            raise GraphFileError(
                f"the header of the table lacks {', '.join(missing)}: it needs the columns subject, relation and "
                f"object, with commas, semicolons or tabs between them, and is '{excerpt(','.join(header))}'; of a "
                "table with a row for each thing, name the column with its name (`subject`, --subject)"
            )
        subject, relation, object = (names.index(name) for name in spelling.values() if name is not None)
        subject_id, object_id, source, *qualifiers = (
            next((names.index(name) for name in spellings if name in names), None)
            for spellings in (("subject_id",), ("object_id",), ("source",), *_QUALIFIERS.values())
        )
        if not any(place is not None for place in qualifiers):
            qualifiers = []
        places = subject, relation, object, subject_id, object_id
        return Columns(len(header), *places, tuple(qualifiers), source, tuple(header))


@dataclass(frozen=True, slots=True)
class WideColumns:
    """The columns of a table with a row for each thing."""

    width: int
    subject: int  # place of the column with its name
    # Relation by the place of its column; columns without a heading are left out
    relations: Mapping[int, str]
    # Places of the columns with begin, end and point in time of a row's facts, where there are any of them
    qualifiers: tuple[int | None, ...]
    header: tuple[str, ...]

    @staticmethod
    def of(header: list[str], subject: str, relations_by_heading: Mapping[str, str]) -> WideColumns:
        """Find the columns in a header.

        Args:
            subject: Heading of the column with the names of things.
            relations_by_heading: Relations of columns that are not called as their heading is, or one of PERIODS; ""
                leaves a column out.

        Raises:
            GraphFileError: A column that was named is missing, or two have one heading, or there are too many.
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
        for heading in (subject, *relations_by_heading):
            if header_name(heading) not in names:
                raise GraphFileError(
                    f"no column is called {heading!r}: the header is '{excerpt(', '.join(header))}'"
                )
        place = names.index(header_name(subject))
        other_names = {header_name(heading): relation for heading, relation in relations_by_heading.items()}
        headings = [other_names.get(name, cell) for name, cell in zip(names, header, strict=True)]
        columns = {
            n: cell if cell in PERIODS else clean_relation(cell)
            for n, cell in enumerate(headings)
            if cell.strip() and n != place
        }
        if twice := [relation for relation, times in Counter(columns.values()).items() if times > 1]:
            raise GraphFileError(f"two columns are the relation {', '.join(twice)}: leave one of them out")
        relations = {n: name for n, name in columns.items() if name not in PERIODS}
        if not relations:
            raise GraphFileError(f"there is no column beside {subject!r}: each further one is a fact")
        places = {name: n for n, name in columns.items()}
        return WideColumns(len(header), place, relations, tuple(map(places.get, PERIODS)), tuple(header))


class TableReader(Reader):
    """Reads records, each with the number of its line. A bad record or cell is rejected alone.

    Attributes:
        subject: Heading of the column with the names of things, of a table with a row for each; "" for one of facts.
    """

    def __init__(self, language: str, subject: str = "", columns: Mapping[str, str] | None = None) -> None:
        super().__init__(language)
        self.subject, self._relations_by_heading = subject, columns or {}
        self.columns: Columns | WideColumns | None = None
        self._last_label: tuple[str, str] | None = None

    def read_record(self, fields: list[str], number: int) -> Iterator[Result]:
        """Read the header, and then the facts of one record.

        Raises:
            GraphFileError: The header cannot be used.
            Refused: The record cannot be used.
        """
        if not any(map(str.strip, fields)):
            return
        if self.columns is None:
            try:
                if self.subject:
                    self.columns = WideColumns.of(fields, self.subject, self._relations_by_heading)
                else:
                    self.columns = Columns.of(fields)
            except Refused as refused:
                raise GraphFileError(f"the header of the table cannot be read: {refused.reason}") from refused
        elif isinstance(self.columns, WideColumns):
            yield from self._facts(self.columns, fields, number)
        else:
            yield from self._fact(self.columns, fields, number)

    def end(self) -> Iterator[Result]:
        if self.columns is None:
            Columns.of([])
        return iter(())

    def _facts(self, columns: WideColumns, fields: list[str], number: int) -> Iterator[Result]:
        """Yield a fact for each cell; an empty cell is none, and one that cannot be used is rejected alone."""
        if len(fields) != columns.width:
            raise Refused(f"{len(fields)} fields instead of {columns.width}, as the header has", "columns")
        name = clean("subject", fields[columns.subject])
        qualifiers = _qualify(columns, fields)
        for place, relation in columns.relations.items():
            cell = fields[place]
            if not cell.strip():
                self.skipped["empty_cell"] += 1
                continue
            try:
                if fault := describe_fault(cell):
                    raise Refused(f"{relation} of {name} {fault}", "syntax")
                first, *further = (clean(relation, line) for line in cell.splitlines() if line.strip())
                yield Row(
                    "fact", name, relation, first, "", number, False, tuple(further), qualifiers=qualifiers
                )
            except Refused as refused:
                yield refused.at(number)

    def _fact(self, columns: Columns, fields: list[str], number: int) -> Iterator[Row]:
        """Yield the fact, and before it the name of a subject that has an id."""
        if len(fields) != columns.width:
            raise Refused(f"{len(fields)} fields instead of {columns.width}, as the header has", "columns")
        name = clean("subject", fields[columns.subject])
        relation = clean_relation(fields[columns.relation])
        object_id = _id("object_id", columns.object_id, fields)
        cell = fields[columns.object]
        text = clean("object", cell) if cell.strip() or not object_id else ""
        subject_id = _id("subject_id", columns.subject_id, fields)
        if subject_id and self._last_label != (subject_id, name):
            self._last_label = (subject_id, name)
            yield Row("label", subject_id, "", name, "", number, True)
        row = Row("fact", subject_id or name, relation, text, object_id, number, bool(subject_id))
        if columns.source is not None and (source := fields[columns.source]).strip():
            row = row._replace(source=clean("source", source))
        qualifiers = _qualify(columns, fields)
        yield row._replace(qualifiers=qualifiers) if qualifiers else row


def _qualify(columns: Columns | WideColumns, fields: list[str]) -> tuple[str, ...]:
    """Return what qualifies the facts of a record, if anything does; raise Refused for a date that is none."""
    texts = ["" if n is None else " ".join(fields[n].split()) for n in columns.qualifiers]
    for place, date in zip(columns.qualifiers[: len(PERIODS)], texts, strict=False):
        if place is not None and date not in ("", UNKNOWN) and find_bounds(date) is None:
            heading = excerpt(columns.header[place].strip())
            raise Refused(
                f"{excerpt(date)!r} in column {heading} is no date: write 1889 or 1889-03-31", "syntax"
            )
    return (*texts, *NO_QUALIFIERS[len(texts) :]) if any(texts) else ()


def _id(field: str, column: int | None, fields: list[str]) -> str:
    raw = "" if column is None else fields[column]
    return clean_id(field, raw) if raw.strip() else ""


def header_name(cell: str) -> str:
    return cell.strip().casefold().replace(" ", "_")
