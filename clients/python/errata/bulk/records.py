"""The records of a file, a table, a sheet of a workbook, JSON lines or one JSON list, each with its line.

BadFile is raised if the beginning of the next record cannot be known, as after a quote that is never closed; the
fault of a single record is noted, and reading continues. Active edits become a table that reads back without a change.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from errata.errors import BadFile
from errata.tables.delimiter import DELIMITERS, find_delimiter, split_rows
from errata.wire import ActiveEditList

TABLES, WORKBOOKS, JSONL, JSON = (".csv", ".tsv"), (".xlsx", ".xlsm"), (".jsonl", ".ndjson"), ".json"
CORRECTION = ("question", "answer", "paraphrases", "counterexamples", "model", "tests", "replaces")
FACT = ("subject", "relation", "object", "act", "only", "begin", "end", "time", "unit", "rank", "source")
DEFINITION = ("define", "holds", "label")
ORIGIN = ("version", "id", "method")  # what an export says of the edit that became a line
COLUMNS = (*CORRECTION, *FACT, *DEFINITION, *ORIGIN)
KINDS = (("question", "answer"), ("subject", "relation", "object"), ("define",))  # one of them is there
LISTS = {"paraphrases", "counterexamples", "tests", "replaces"}
OTHER_TITLES = {"wording": "question", "also": "paraphrases", "not": "counterexamples"}
TITLES = {"paraphrases": "also", "counterexamples": "not"}
LEADING = ("question", "answer", "subject", "relation", "object", "act")  # columns that a table has first
TABLE_LINE = "question (or wording),answer[,also][,not][,model]"
EXAMPLE_BREAK = re.compile(r"[|\r\n]")  # break between several wordings of one cell
JSONL_LINE = (
    '{"question": "...", "answer": "..."} with paraphrases, a list, and model if wanted, '
    'or {"subject": "...", "relation": "...", "object": "..."}'
)


JSON_LIST = 'a .json file holds one list, [{...}, {...}]; name one with an object a line ".jsonl"'


@dataclass(frozen=True)
class Record:
    """One record of a file."""

    number: int
    where: str  # place of the record, with the name of the file
    fields: dict[str, Any]
    complaint: str = ""  # reason why it cannot be used; "" if it may be
    origin: Mapping[str, str] = field(default_factory=dict)  # the columns of ORIGIN that it has


def iterate_records(name: str, kind: str, text: str) -> Iterator[Record]:
    """Yield the records of a file, whose name ends in `kind`."""
    if kind in TABLES:
        mark = find_delimiter(text)
        rule = f"a text with a {DELIMITERS.get(mark, mark)} stands in double quotes"
        return _iterate_table(name, _split_csv(name, text), f"there are more cells than columns; {rule}")
    return _iterate_json_lines(name, text) if kind in JSONL else _iterate_json_list(name, text)


def iterate_workbook(name: str, file: BinaryIO, sheet: str, hidden: Counter[str]) -> Iterator[Record]:
    """Yield the records of a sheet of a workbook, "" for its only one; count hidden rows and columns."""
    from errata.tables.workbook import WorkbookError, describe_fault, read_sheet

    try:
        rows = read_sheet(file, sheet, hidden)
        for record in _iterate_table(name, rows, "there are more cells than columns"):
            fault = next(filter(None, (describe_fault(str(text)) for text in record.fields.values())), "")
            yield replace(record, complaint=f"a cell {fault}" if fault else record.complaint)
    except WorkbookError as error:
        raise BadFile(f"{name}: {error}") from error


def _split_csv(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    number = 0
    try:
        for number, cells in split_rows(text):
            yield number, cells
    except csv.Error as error:
        advice = 'a cell in double quotes ends with one, and has "" for one inside'
        raise BadFile(f"{name}:{number + 1}: this is not CSV: {error}; {advice}") from error


def _iterate_table(name: str, rows: Iterable[tuple[int, list[str]]], surplus: str) -> Iterator[Record]:
    """Yield the records of a table, whose first row has the headings. An empty cell counts as missing."""
    columns: list[str] = []
    for number, cells in rows:
        while cells and not cells[-1].strip():  # Excel fills rows up
            cells.pop()
        if not columns and cells:
            titles = [title.strip().lower() for title in cells]
            columns = [OTHER_TITLES.get(title, title) for title in titles]
            _check_columns(name, columns, titles)
        elif cells:
            fields: dict[str, Any] = {
                column: cell for column, cell in zip(columns, cells, strict=False) if cell.strip()
            }
            origin = {column: fields.pop(column) for column in ORIGIN if column in fields}
            for column in LISTS & fields.keys():
                fields[column] = _split_cell(fields[column])
            complaint = surplus if len(cells) > len(columns) else ""
            yield Record(number, f"{name}:{number}", fields, complaint, origin)
    if not columns:
        _check_columns(name, [], [])


def _split_cell(cell: str) -> list[Any]:
    """Return the parts of a cell: a JSON list, or texts with bars or line breaks between them."""
    if cell.startswith("["):
        with suppress(ValueError, RecursionError):
            parts = json.loads(cell)
            if isinstance(parts, list):
                return parts
    return [part.strip() for part in EXAMPLE_BREAK.split(cell) if part.strip()]


def _check_columns(name: str, columns: Sequence[str], titles: Sequence[str]) -> None:
    """Check the headings of a table; raise BadFile if they cannot be used."""
    if fault := _find_fault(columns):
        rule = f"the first line names the columns, as in {TABLE_LINE}, with commas, semicolons or tabs"
        raise BadFile(f"{name}:1: {fault}; {rule}; it is {','.join(titles) or 'not there'}")


def _find_fault(columns: Sequence[str]) -> str:
    """Return the reason why columns cannot be used; "" if they can."""
    missing_by_kind = [[column for column in kind if column not in columns] for kind in KINDS]
    is_fact = "subject" in columns and "question" not in columns
    missing = [] if not all(missing_by_kind) else missing_by_kind[is_fact]
    unknown = [column for column in columns if column not in COLUMNS]
    twice = [column for column in COLUMNS if columns.count(column) > 1]
    for fault, names in (
        ("there is no column", missing),
        ("nothing reads the column", unknown),
        ("two columns name the", twice),
    ):
        if names:
            return f"{fault} {names[0]!r}"
    return ""


def _iterate_json_lines(name: str, text: str) -> Iterator[Record]:
    for number, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        where = f"{name}:{number}"
        try:
            value = json.loads(content.strip())
        except json.JSONDecodeError as error:
            yield Record(number, where, {}, f"this is not JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError):  # a number of thousands of digits, or as many nested lists
            yield Record(number, where, {}, "this is not JSON that can be read")
        else:
            yield _to_record(number, where, value)


def _iterate_json_list(name: str, text: str) -> Iterator[Record]:
    try:
        values = json.loads(text or "null")
    except json.JSONDecodeError as error:
        why = f"this is not JSON: {error.msg} at column {error.colno}"
        raise BadFile(f"{name}:{error.lineno}: {why}; {JSON_LIST}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or as many nested lists
        raise BadFile(f"{name}: this is not JSON that can be read") from error
    if not isinstance(values, list):
        raise BadFile(f"{name}: {JSON_LIST}")
    for number, value in enumerate(values, start=1):
        yield _to_record(number, f"{name} (record {number:,})", value)


def _to_record(number: int, where: str, value: Any) -> Record:
    if isinstance(value, dict):
        return Record(number, where, value)
    return Record(number, where, {}, "this is not an object")


def make_rows(edits: ActiveEditList) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows, without the columns that no row needs."""
    needs_ids = any(edit.edit.get("replaces") for edit in edits.edits)
    fields: list[Mapping[str, Any]] = [
        {
            **edit.edit,
            "version": str(edit.version),
            "method": edit.method,
            "id": edit.id if needs_ids and "question" in edit.edit else "",
        }
        for edit in edits.edits
    ]
    in_use = {name for row in fields for name, value in row.items() if value}
    in_use |= {"question", "answer", "version"}
    columns = [name for name in (*LEADING, *(c for c in COLUMNS if c not in LEADING)) if name in in_use]
    titles = [TITLES.get(column, column) for column in columns]
    return titles, [[_write_cell(row.get(column)) for column in columns] for row in fields]


def _write_cell(value: Any) -> str:
    """Return a cell that is read again to the letter: several texts stand between bars, or as a JSON list."""
    if not value:
        return ""
    if isinstance(value, str):
        return value
    texts = [part if isinstance(part, str) else "|" for part in value]
    is_plain = not any(EXAMPLE_BREAK.search(text) or text != text.strip() for text in texts)
    cell = " | ".join(texts)
    return cell if is_plain and not cell.startswith("[") else json.dumps(value, ensure_ascii=False)
