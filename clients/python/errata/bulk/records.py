"""A file taken apart: CSV, JSON lines and one JSON list, each record with the line it stands on.

Raises BadFile where it cannot be known where the next record begins; a record that is only wrong in itself is told of
and the others are read on.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterator, Sequence
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
SPACE = tuple(" \t\r\n")


@dataclass(frozen=True)
class Record:
    """where: with the name of the file. complaint: why it cannot be used; "" where it may be."""

    number: int
    where: str
    fields: dict[str, Any]
    complaint: str = ""


def records(name: str, kind: str, text: str) -> Iterator[Record]:
    """kind: how the name of the file ends."""
    if kind == CSV:
        return _csv(name, text)
    return _json_lines(name, text) if kind in JSONL else _json_list(name, text)


def _csv(name: str, text: str) -> Iterator[Record]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    done = 0
    try:
        _check_header(name, rows.fieldnames or [])
        for row in rows:
            done = rows.line_num
            yield _row(name, done, row)
    except csv.Error as error:
        advice = 'a cell in double quotes ends with one, and has "" for one inside'
        raise BadFile(f"{name}:{done + 1}: this is not CSV: {error}; {advice}") from error


def _check_header(name: str, header: Sequence[str]) -> None:
    known = {"question", "answer"} <= set(header) <= set(COLUMNS)
    if not known or len(set(header)) < len(header):
        found = ",".join(header) or "not there"
        raise BadFile(
            f"{name}:1: the first line names the columns and must be {CSV_LINE}, with commas; it is {found}"
        )


def _row(name: str, line: int, row: dict[str | Any, str | Any]) -> Record:
    """An empty cell is as good as none. Cells beyond the header are under None."""
    where, surplus = f"{name}:{line}", row.pop(None, None)
    fields: dict[str, Any] = {column: cell for column, cell in row.items() if cell}
    if "paraphrases" in fields:
        fields["paraphrases"] = [part for part in fields["paraphrases"].split("|") if part.strip()]
    complaint = "there are more cells than columns; a text with a comma stands in double quotes"
    return Record(line, where, fields, complaint if surplus else "")


def _json_lines(name: str, text: str) -> Iterator[Record]:
    for number, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            yield _json_line(number, f"{name}:{number}", content.strip())


def _json_line(number: int, where: str, content: str) -> Record:
    try:
        found = json.loads(content)
    except json.JSONDecodeError as error:
        return Record(number, where, {}, f"this is not JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError):  # a number of thousands of digits, a list of thousands of lists
        return Record(number, where, {}, "this is not JSON that can be read")
    return _object(number, where, found)


def _json_list(name: str, text: str) -> Iterator[Record]:
    """One object after the other, so that each is known by its line; a list that breaks off is no list."""
    scan = _Scan(name, text)
    scan.sign("[", 'a .json file holds one list, [{...}, {...}]; name one with an object a line ".jsonl"')
    if scan.next() != "]":
        for count in itertools.count(1):
            scan.next()
            number = scan.number
            yield _object(number, f"{name}:{number} (record {count:,})", scan.value())
            if scan.next() == "]":
                break
            scan.sign(",", "a comma or ] is expected")
    scan.sign("]", "")
    scan.sign("", "nothing is expected behind the list")


class _Scan:
    """Where the reader of a JSON list is. number: of the line."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text, self._place, self.number = name, text, 0, 1
        self._decoder = json.JSONDecoder()

    def next(self) -> str:
        """The next sign that is no space; "" at the end."""
        place = self._place
        while self._text[place : place + 1] in SPACE:
            place += 1
        self._to(place)
        return self._text[place : place + 1]

    def sign(self, wanted: str, advice: str) -> None:
        """Pass this one sign. BadFile where it is another."""
        found = self.next()
        if found != wanted:
            what = repr(found) if found else "the end of the file"
            raise BadFile(
                f"{self._name}:{self.number}: this is not as it should be: {advice}; here is {what}"
            )
        self._to(self._place + len(wanted))

    def value(self) -> Any:
        try:
            found, end = self._decoder.raw_decode(self._text, self._place)
        except json.JSONDecodeError as error:
            why = f"this is not JSON: {error.msg} at column {error.colno}"
            raise BadFile(f"{self._name}:{error.lineno}: {why}") from error
        except (ValueError, RecursionError) as error:
            raise BadFile(f"{self._name}:{self.number}: this is not JSON that can be read") from error
        self._to(end)
        return found

    def _to(self, place: int) -> None:
        self.number += self._text.count("\n", self._place, place)
        self._place = place


def _object(number: int, where: str, found: Any) -> Record:
    if isinstance(found, dict):
        return Record(number, where, found)
    return Record(number, where, {}, "this is not an object")
