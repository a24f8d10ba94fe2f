"""The records of a file, CSV, JSON lines or one JSON list, each with its line.

BadFile is raised if the beginning of the next record cannot be known, as after a quote that is never closed; the
fault of a single record is noted, and reading continues.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from errata.errors import BadFile

CSV, JSONL, JSON = ".csv", (".jsonl", ".ndjson"), ".json"
COLUMNS = ("question", "answer", "paraphrases", "model")
CSV_LINE = "question,answer[,paraphrases][,model]"
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
    if kind == CSV:
        return _iterate_csv(name, text)
    return _iterate_json_lines(name, text) if kind in JSONL else _iterate_json_list(name, text)


def _iterate_csv(name: str, text: str) -> Iterator[Record]:
    """Yield the records of CSV. An empty cell counts as missing; cells beyond the header are under None."""
    delimiter, separator = _find_delimiter(text)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 0
    try:
        header = rows.fieldnames = [column.lower() for column in rows.fieldnames or []]
        is_complete = {"question", "answer"} <= set(header) <= set(COLUMNS)
        if not is_complete or len(set(header)) < len(header):
            rule = f"the first line names the columns and must be {CSV_LINE}, with commas or semicolons"
            raise BadFile(f"{name}:1: {rule}; it is {','.join(header) or 'not there'}")
        for row in rows:
            number = rows.line_num
            surplus = row.pop(None, None)
            fields: dict[str, Any] = {column: cell for column, cell in row.items() if cell}
            if "paraphrases" in fields:
                fields["paraphrases"] = [part for part in fields["paraphrases"].split("|") if part.strip()]
            complaint = (
                f"there are more cells than columns; a text with a {separator} stands in double quotes"
            )
            yield Record(number, f"{name}:{number}", fields, complaint if surplus else "")
    except csv.Error as error:
        advice = 'a cell in double quotes ends with one, and has "" for one inside'
        raise BadFile(f"{name}:{number + 1}: this is not CSV: {error}; {advice}") from error


def _find_delimiter(text: str) -> tuple[str, str]:
    """Return the delimiter of the cells, and its name; the header line decides, which holds no free text."""
    header = text.partition("\n")[0]
    return (";", "semicolon") if ";" in header and "," not in header else (",", "comma")


def _iterate_json_lines(name: str, text: str) -> Iterator[Record]:
    for number, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        where = f"{name}:{number}"
        try:
            value = json.loads(content.strip())
        except json.JSONDecodeError as error:
            yield Record(number, where, {}, f"this is not JSON: {error.msg} at column {error.colno}")
        except (
            ValueError,
            RecursionError,
        ):  # such as a number of thousands of digits, or a list of thousands of lists
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
