"""Reads many corrections from a file, and says which line is wrong before anything is sent.

CSV has a header line and the columns question, answer and, if wanted, paraphrases (joined by "|") and model.
JSONL has one object a line, as POST /admin/edits takes them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from errata.refusals import sentence
from errata.wire import MAX_EDITS, EditItem

COLUMNS = ("question", "answer", "paraphrases", "model")
Row = tuple[int, object]  # the line it stands on, and what an EditItem is made of


class BadFile(ValueError):
    """One sentence that names the file, the line and what to do."""


def read_corrections(file: Path, model: str) -> list[EditItem]:
    """model: whom a line corrects that does not say so itself.

    At least one correction, at most as many as one commit takes. BadFile otherwise."""
    try:
        edits = [_edit(file, line, _for_model(model, fields)) for line, fields in _rows(file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadFile(f"{file} cannot be read: {error}") from error
    if not edits:
        raise BadFile(f"{file} holds no corrections")
    if len(edits) > MAX_EDITS:
        raise BadFile(
            f"{file} holds {len(edits):,} corrections; one commit takes {MAX_EDITS:,}: split the file"
        )
    return edits


def _rows(file: Path) -> Iterator[Row]:
    if file.suffix.lower() == ".csv":
        return _csv_rows(file)
    if file.suffix.lower() in (".jsonl", ".ndjson"):
        return _jsonl_rows(file)
    raise BadFile(f"{file}: the name must end in .csv or .jsonl, so that it is clear how to read it")


def _csv_rows(file: Path) -> Iterator[Row]:
    with file.open(encoding="utf-8-sig", newline="") as text:
        rows = csv.DictReader(text, strict=True)
        header = list(rows.fieldnames or [])
        unknown = [name for name in header if name not in COLUMNS]
        if unknown or not {"question", "answer"} <= set(header):
            raise BadFile(
                f"{file}:1: the columns are {header}, but must be question,answer[,paraphrases][,model]"
            )
        for row in rows:
            yield rows.line_num, _csv_fields(row)


def _csv_fields(row: dict[str | None, str | None]) -> dict[str, object]:
    """Cells beyond the header stay under the name `more columns`, which an edit refuses by that name."""
    fields: dict[str, object] = {name or "more columns": cell for name, cell in row.items() if cell}
    if "paraphrases" in fields:
        fields["paraphrases"] = [part for part in str(fields["paraphrases"]).split("|") if part.strip()]
    return fields


def _jsonl_rows(file: Path) -> Iterator[Row]:
    with file.open(encoding="utf-8-sig") as text:
        for line, content in enumerate(text, start=1):
            if content.strip():
                yield line, _json(file, line, content)


def _json(file: Path, line: int, content: str) -> object:
    try:
        return json.loads(content)
    except ValueError as error:
        raise BadFile(f"{file}:{line}: this is not JSON: {error}") from error


def _for_model(model: str, fields: object) -> object:
    return {"model": model, **fields} if isinstance(fields, dict) else fields


def _edit(file: Path, line: int, fields: object) -> EditItem:
    try:
        return EditItem.model_validate(fields)
    except ValidationError as error:
        raise BadFile(f"{file}:{line}: {sentence(error)}") from error
