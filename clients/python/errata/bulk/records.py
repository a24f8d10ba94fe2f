"""The records of a file, a table, JSON lines or one JSON list, each with its line.

BadFile is raised if the beginning of the next record cannot be known, as after a quote that is never closed; the
fault of a single record is noted, and reading continues.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from errata.errors import BadFile

TABLES, JSONL, JSON = (".csv", ".tsv"), (".jsonl", ".ndjson"), ".json"
COLUMNS = ("question", "answer", "paraphrases", "counterexamples", "model")
OTHER_TITLES = {"wording": "question", "also": "paraphrases", "not": "counterexamples"}
TABLE_LINE = "question (or wording),answer[,also][,not][,model]"
DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma"}
EXAMPLE_BREAK = re.compile(r"[|\r\n]")  # break between several wordings of one cell
JSONL_LINE = (
    '{"question": "...", "answer": "..."} with paraphrases, a list, and model if wanted, '
    'or {"subject": "...", "relation": "...", "object": "..."}'
)


@dataclass(frozen=True)
class Record:
    """One record of a file.

    Attributes:
        where: Place of the record, with the name of the file.
        complaint: Reason why it cannot be used; "" if it may be.
    """

    number: int
    where: str
    fields: dict[str, Any]
    complaint: str = ""


def iterate_records(name: str, kind: str, text: str) -> Iterator[Record]:
    """Yield the records of a file, whose name ends in `kind`."""
    if kind in TABLES:
        return _iterate_table(name, text)
    return _iterate_json_lines(name, text) if kind in JSONL else _iterate_json_list(name, text)


def _iterate_table(name: str, text: str) -> Iterator[Record]:
    """Yield the records of a table. An empty cell counts as missing; cells beyond the header are under None."""
    delimiter = _find_delimiter(text)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 0
    try:
        titles = [title.strip().lower() for title in rows.fieldnames or []]
        rows.fieldnames = [OTHER_TITLES.get(title, title) for title in titles]
        if fault := _find_fault(rows.fieldnames):
            rule = f"the first line names the columns, as in {TABLE_LINE}, with commas, semicolons or tabs"
            raise BadFile(f"{name}:1: {fault}; {rule}; it is {','.join(titles) or 'not there'}")
        for row in rows:
            number = rows.line_num
            surplus = row.pop(None, None)
            fields: dict[str, Any] = {column: cell for column, cell in row.items() if cell}
            for column in {"paraphrases", "counterexamples"} & fields.keys():
                parts = EXAMPLE_BREAK.split(fields[column])
                fields[column] = [part.strip() for part in parts if part.strip()]
            separator = DELIMITERS[delimiter]
            complaint = (
                f"there are more cells than columns; a text with a {separator} stands in double quotes"
            )
            yield Record(number, f"{name}:{number}", fields, complaint if surplus else "")
    except csv.Error as error:
        advice = 'a cell in double quotes ends with one, and has "" for one inside'
        raise BadFile(f"{name}:{number + 1}: this is not CSV: {error}; {advice}") from error


def _find_fault(columns: Sequence[str]) -> str:
    """Return the reason why columns cannot be used; "" if they can."""
    missing = [column for column in ("question", "answer") if column not in columns]
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


def _find_delimiter(text: str) -> str:
    """Return the delimiter of the cells, by the header line, which holds no free text."""
    header = text.partition("\n")[0]
    return next((delimiter for delimiter in DELIMITERS if delimiter in header), ",")


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
    """Yield one object after the other, so that each is known by its line; a list without an end is no list."""
    scanner = _Scanner(name, text)
    scanner.expect(
        "[", 'a .json file holds one list, [{...}, {...}]; name one with an object a line ".jsonl"'
    )
    if scanner.peek() != "]":
        for count in itertools.count(1):
            scanner.peek()
            number = scanner.line
            yield _to_record(number, f"{name}:{number} (record {count:,})", scanner.read_value())
            if scanner.peek() == "]":
                break
            scanner.expect(",", "a comma or ] is expected")
    scanner.expect("]", "")
    scanner.expect("", "nothing is expected behind the list")


class _Scanner:
    """Reads a JSON list value by value; `line` is the current line."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text, self._place, self.line = name, text, 0, 1
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next character that is no space; "" at the end."""
        place = self._place
        while self._text[place : place + 1] in (" ", "\t", "\r", "\n"):
            place += 1
        self._move_to(place)
        return self._text[place : place + 1]

    def expect(self, character: str, advice: str) -> None:
        """Skip this character; raise BadFile if another one follows."""
        actual = self.peek()
        if actual != character:
            token = repr(actual) if actual else "the end of the file"
            raise BadFile(f"{self._name}:{self.line}: this is not as it should be: {advice}; here is {token}")
        self._move_to(self._place + len(character))

    def read_value(self) -> Any:
        try:
            value, end = self._decoder.raw_decode(self._text, self._place)
        except json.JSONDecodeError as error:
            why = f"this is not JSON: {error.msg} at column {error.colno}"
            raise BadFile(f"{self._name}:{error.lineno}: {why}") from error
        except (ValueError, RecursionError) as error:
            raise BadFile(f"{self._name}:{self.line}: this is not JSON that can be read") from error
        self._move_to(end)
        return value

    def _move_to(self, place: int) -> None:
        self.line += self._text.count("\n", self._place, place)
        self._place = place


def _to_record(number: int, where: str, value: Any) -> Record:
    if isinstance(value, dict):
        return Record(number, where, value)
    return Record(number, where, {}, "this is not an object")
