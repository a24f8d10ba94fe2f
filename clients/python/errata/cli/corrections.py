"""Reads many corrections from a file, and says which line is wrong before anything is sent.

CSV has a header line and the columns question, answer and, if wanted, paraphrases (joined by "|") and model.
JSONL has one object a line, as POST /admin/edits takes a correction.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from errata.refusals import sentence
from errata.wire import MAX_EDITS, EditItem

COLUMNS = ("question", "answer", "paraphrases", "model")
CSV, JSONL = ".csv", (".jsonl", ".ndjson")
CSV_LINE = "question,answer[,paraphrases][,model]"
JSONL_LINE = '{"question": "...", "answer": "..."} with paraphrases, a list, and model if wanted'
Row = tuple[int, dict[str, object]]  # the line it ends on, and what an EditItem is made of


class BadFile(ValueError):
    """One sentence that names the file, the line and what to do."""


def read_corrections(file: Path, model: str) -> list[EditItem]:
    """model: whom a line corrects that does not say so itself.

    At least one correction, at most as many as one commit takes. BadFile otherwise."""
    edits = [_edit(file, line, {"model": model, **fields}) for line, fields in _rows(file)]
    if not edits:
        raise BadFile(f"{file} holds no corrections; each is a line {_expected(file)}")
    if len(edits) > MAX_EDITS:
        raise BadFile(
            f"{file} holds {len(edits):,} corrections; one commit takes {MAX_EDITS:,}: split the file"
        )
    return edits


def _rows(file: Path) -> Iterator[Row]:
    if file.suffix.lower() == CSV:
        return _csv_rows(file)
    if file.suffix.lower() in JSONL:
        return _jsonl_rows(file)
    raise BadFile(f"{file}: the name must end in .csv or .jsonl, so that it is clear how to read it")


def _expected(file: Path) -> str:
    return CSV_LINE if file.suffix.lower() == CSV else JSONL_LINE


def _edit(file: Path, line: int, fields: dict[str, object]) -> EditItem:
    try:
        return EditItem.model_validate(fields)
    except ValidationError as error:
        raise BadFile(f"{file}:{line}: {sentence(error)}; expected {_expected(file)}") from error


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise BadFile(f"{file} cannot be read: {error.strerror}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BadFile(f"{file}:{line}: this is not UTF-8; save the file as UTF-8") from error


def _csv_rows(file: Path) -> Iterator[Row]:
    rows = csv.DictReader(io.StringIO(_text(file), newline=""), strict=True)
    done = 0
    try:
        _check_header(file, rows.fieldnames or [])
        for row in rows:
            done = rows.line_num
            yield done, _csv_fields(file, done, row)
    except csv.Error as error:
        advice = 'a cell in double quotes ends with one, and has "" for one inside'
        raise BadFile(f"{file}:{done + 1}: this is not CSV: {error}; {advice}") from error


def _check_header(file: Path, header: Sequence[str]) -> None:
    known = {"question", "answer"} <= set(header) <= set(COLUMNS)
    if not known or len(set(header)) < len(header):
        found = ",".join(header) or "not there"
        raise BadFile(
            f"{file}:1: the first line names the columns and must be {CSV_LINE}, with commas; it is {found}"
        )


def _csv_fields(file: Path, line: int, row: dict[str | None, str | list[str] | None]) -> dict[str, object]:
    """An empty cell is as good as none. Cells beyond the header are under None."""
    if row.pop(None, None):
        advice = "a text with a comma stands in double quotes"
        raise BadFile(f"{file}:{line}: there are more cells than columns; {advice}")
    fields: dict[str, object] = {str(name): cell for name, cell in row.items() if cell}
    if "paraphrases" in fields:
        fields["paraphrases"] = [part for part in str(fields["paraphrases"]).split("|") if part.strip()]
    return fields


def _jsonl_rows(file: Path) -> Iterator[Row]:
    for line, content in enumerate(_text(file).split("\n"), start=1):
        if content.strip():
            yield line, _object(file, line, content.strip())


def _object(file: Path, line: int, content: str) -> dict[str, object]:
    try:
        found = json.loads(content)
    except json.JSONDecodeError as error:
        why = f"{error.msg} at column {error.colno}"
        raise BadFile(f"{file}:{line}: this is not JSON: {why}; expected {JSONL_LINE}") from error
    if not isinstance(found, dict):
        raise BadFile(f"{file}:{line}: this is not an object; expected {JSONL_LINE}")
    return found
