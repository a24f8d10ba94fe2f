"""Facts from the records of a table, whatever file they come from; the first names the columns.

A table has a row for each fact, with the columns subject, relation and object; or, where its subject's column is named,
a row for each thing and a column for each of its facts, whose heading is the relation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from errata.tables.workbook import describe_fault

from models.graph.periods import BEST, DEPRECATED, UNKNOWN, is_possible, is_reversed
from models.graph.statement import NO_QUALIFIERS
from service.graph.formats.base import Reader
from service.graph.formats.cleaning import clean, clean_id, clean_relation, excerpt
from service.graph.formats.ntriples import id_of
from service.graph.formats.row import GraphFileError, Kind, Refused, Result, Row

# Spellings of the headings, as column_name writes them
TRIPLE = {
    "subject": ("subject", "subj", "head", "node1", "item", "entity", "source"),
    "relation": (
        "relation",
        "predicate",
        "property",
        "edge",
        "relationship",
        "rel",
        "pred",
        "prop",
    ),
    "object": ("object", "obj", "tail", "node2", "value", "target"),
}
# Columns of what qualifies a fact, dates first
_QUALIFIERS = {
    "from": ("from", "since", "begin", "start", "startdate", "starttime", "validfrom"),
    "to": ("to", "until", "end", "enddate", "endtime", "validto", "validuntil"),
    "time": ("time", "pointintime"),
    "unit": ("unit", "units"),
    "rank": ("rank",),
}
_NAMES = {f"{part}_{kind}": (part + kind,) for part in TRIPLE for kind in ("id", "label")}
_SPELLINGS = {**TRIPLE, **_NAMES, "source": ("source",), **_QUALIFIERS}
# What a column of a table with a row for each thing is named that dates the facts of its row
PERIODS = "@from", "@to", "@time"
MAX_COLUMNS = 256
NUMBER, PROPERTY = re.compile(r"[-+\d.,]+"), re.compile(r"P\d+", re.ASCII)
TABS = 2  # tabs between the three columns of a .spo line


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table of facts."""

    width: int
    places: Mapping[str, int]  # by what the column holds
    # Places of the columns from, to, time, unit and rank, where there are any of them
    qualifiers: tuple[int | None, ...]
    header: tuple[str, ...]
    unread: tuple[str, ...]  # headings of the columns that nothing reads

    @staticmethod
    def of(header: list[str]) -> Columns:
        places = find_places(header)
        names = [column_name(cell) for cell in header]
        if twice := sorted(header[n].strip() for n in places.values() if names.count(names[n]) > 1):
            raise GraphFileError(
                f"the header of the table names {', '.join(twice)} twice: keep one column of that name"
            )
        if missing := [part for part in TRIPLE if part not in places]:
            raise GraphFileError(
                f"the header of the table lacks {', '.join(missing)}: it needs the columns subject, relation and "
                f"object, with commas, semicolons or tabs between them, and is '{excerpt(','.join(header))}'; of a "
                "table with a row for each thing, name the column with its name (`subject`, --subject)"
            )
        unread = (excerpt(cell.strip()) for n, cell in enumerate(header) if n not in places.values())
        qualifiers = tuple(map(places.get, _QUALIFIERS))
        return Columns(len(header), places, qualifiers, tuple(header), tuple(filter(None, unread)))


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
        if twice := sorted(name for name, times in Counter(filter(None, names)).items() if times > 1):
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
        self._last_labels: dict[Kind, tuple[str, str]] = {}

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
                    self.unread = self.columns.unread
            except Refused as refused:
                raise GraphFileError(f"the header of the table cannot be read: {refused.reason}") from refused
        elif len(fields) != self.columns.width:
            raise Refused(
                f"{len(fields)} fields instead of {self.columns.width}, as the header has", "columns"
            )
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
        _check("the subject", fields[columns.subject])
        name = clean("subject", fields[columns.subject])
        qualifiers = _qualify(columns, fields)
        for place, relation in columns.relations.items():
            cell = fields[place]
            if not cell.strip():
                self.skipped["empty_cell"] += 1
                continue
            try:
                _check(f"{relation} of {name}", cell)
                first, *further = (clean(relation, line) for line in cell.splitlines() if line.strip())
                yield Row(
                    "fact", name, relation, first, "", number, False, tuple(further), qualifiers=qualifiers
                )
            except Refused as refused:
                yield refused.at(number)

    def _fact(self, columns: Columns, fields: list[str], number: int) -> Iterator[Row]:
        """Yield the fact, and before it the names of a subject and a relation that have an id."""
        cells = {column: fields[place] for column, place in columns.places.items()}
        for column, cell in cells.items():
            _check(f"the {column.replace('_', ' ')}", cell)
        subject_id, name = _thing("subject", cells)
        relation_id, relation_name = _thing("relation", cells)
        object_id, text = _thing("object", cells)
        relation = clean_relation(relation_id or relation_name)
        labels: dict[Kind, tuple[str, str]] = {
            "label": (subject_id, name),
            "relation_label": (relation_id, relation_name),
        }
        for kind, (id, label) in labels.items():
            if id and label and self._last_labels.get(kind) != (id, label):
                self._last_labels[kind] = id, label
                yield Row(kind, id, "", label, "", number, True)
        origin = clean("source", source) if (source := cells.get("source", "").strip()) else ""
        row = Row(
            "fact", subject_id or name, relation, text, object_id, number, bool(subject_id), source=origin
        )
        yield row._replace(qualifiers=_qualify(columns, fields))


def _check(field: str, cell: str) -> None:
    """Raise Refused for what a workbook shows in place of a value."""
    if fault := describe_fault(cell):
        raise Refused(f"{field} {fault}", "syntax")


def _thing(part: str, cells: Mapping[str, str]) -> tuple[str, str]:
    """Return the id and the name of a part of a triple; beside its label, its own column has its id.

    An object without a label, or with itself as one, is a text.
    """
    text, label, id = (id_of(cells.get(part + kind, "").strip()) for kind in ("", "_label", "_id"))
    is_id = text != cells[part].strip() or (part == "subject" and "subject_label" in cells)
    if not id and (is_id or (label not in ("", text) and not NUMBER.fullmatch(text))):
        id, text = text, ""
    if part == "relation" and not PROPERTY.fullmatch(id):
        id = ""
    id = clean_id(f"{part}_id", id) if id else ""
    return id, clean(part, label or text) if label or text or not id else ""


def _qualify(columns: Columns | WideColumns, fields: list[str]) -> tuple[str, ...]:
    """Return what qualifies the facts of a record, if anything does; raise Refused for what cannot be meant."""
    texts = ["" if n is None else " ".join(fields[n].split()) for n in columns.qualifiers]
    for place, date in zip(columns.qualifiers[: len(PERIODS)], texts, strict=False):
        if place is not None and date not in ("", UNKNOWN) and not is_possible(date):
            heading = excerpt(columns.header[place].strip())
            raise Refused(
                f"{excerpt(date)!r} in column {heading} is no date: write 1889 or 1889-03-31", "syntax"
            )
    if is_reversed(*texts[:2]):
        raise Refused(
            f"its end, {texts[1]}, is before its begin, {texts[0]}: exchange or correct them", "syntax"
        )
    texts[len(PERIODS) + 1 :] = map(_to_rank, texts[len(PERIODS) + 1 :])
    return (*texts, *NO_QUALIFIERS[len(texts) :]) if any(texts) else ()


def _to_rank(text: str) -> str:
    """Return a rank as statements have it, from a word for it or from the IRI of Wikibase."""
    rank = re.split("[#:/]", column_name(text))[-1].removesuffix("rank")
    if rank.isdecimal():  # a place in some order of the file
        return ""
    if rank not in ("", "normal", BEST, DEPRECATED):
        raise Refused(f"{excerpt(text)!r} is no rank: write {BEST}, normal or {DEPRECATED}", "syntax")
    return rank.removesuffix("normal")


def header_name(cell: str) -> str:
    return cell.strip().casefold().replace(" ", "_")


def column_name(cell: str) -> str:
    """Return the heading of a column as _SPELLINGS has it."""
    return header_name(cell).replace("_", "").replace("-", "")


def find_places(header: Sequence[str]) -> dict[str, int]:
    """Return the places of the columns of facts, by what they hold; the first spelling counts, and each place once."""
    names = {column_name(cell): n for n, cell in enumerate(header)}
    return {
        column: names.pop(spelling)
        for column, spellings in _SPELLINGS.items()
        for spelling in [name for name in spellings if name in names][:1]
    }
