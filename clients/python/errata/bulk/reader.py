"""Reads the corrections of a file and checks each, so that a bad line is known before anything is sent."""

from __future__ import annotations

import io
from collections import Counter
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from errata.bulk.easyedit import Fields, from_easyedit, is_easyedit
from errata.bulk.line import Line, Origin
from errata.bulk.records import (
    JSON,
    JSONL,
    JSONL_LINE,
    TABLE_LINE,
    TABLES,
    WORKBOOKS,
    Record,
    iterate_records,
    iterate_workbook,
)
from errata.errors import BadFile, UnreadableFile
from errata.problems import describe_invalid
from errata.wire import EditItem, FactItem, Item

EASYEDIT_LINE = '{"prompt": "...", "target_new": "..."} with rephrase_prompt if wanted'
ITEM: TypeAdapter[Item] = TypeAdapter(Item)
FACT_FIELDS = {"subject", "relation", "object", "define"}


def read_corrections(
    file: Path,
    model: str | None = None,
    sheet: str = "",
    content: bytes | None = None,
    max_lines: int | None = None,
) -> tuple[list[Line], str]:
    """Return the lines of a file, in order, and the SHA-256 of its bytes.

    Args:
        model: The model to correct, for lines that name none.
        sheet: Name of the sheet of a workbook; "" for its only one.
        content: Its bytes, where it is not on this machine's disk.
        max_lines: Lines that it may have; None for any number.

    Raises:
        BadFile: It is not of a known kind, is empty, has too many lines, or cannot be divided into them.
        UnreadableFile: It cannot be opened.
    """
    kind = file.suffix.lower()
    if kind not in (*TABLES, *WORKBOOKS, *JSONL, JSON):
        raise BadFile(
            f"{file}: the name must end in .csv, .tsv, .xlsx, .jsonl or .json, so that it is clear how to read it"
        )
    hidden: Counter[str] = Counter()
    try:
        content = file.read_bytes() if content is None else content
        if kind in WORKBOOKS:
            records = iterate_workbook(str(file), io.BytesIO(content), sheet, hidden)
        else:
            records = iterate_records(str(file), kind, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise BadFile(f"{file}:{number}: this is not UTF-8; save the file as UTF-8") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(f"{file} cannot be read: {why}") from error
    lines: list[Line] = []
    for record in records:
        if len(lines) == max_lines:
            raise BadFile(f"{file} has more than {max_lines:,} lines: divide it")
        lines.append(_to_line(record, kind, model))
    if not lines:
        raise BadFile(f"{file} holds no corrections; each is a line {_describe_format(kind, {})}")
    lines[-1].unused_fields += tuple(f"{name.replace('_', ' ')}s: {n}" for name, n in hidden.items() if n)
    return lines, sha256(content).hexdigest()


def _to_line(record: Record, kind: str, model: str | None) -> Line:
    line, fields = Line(record.number, record.where, origin=Origin(**record.origin)), record.fields
    advice = f"; expected {_describe_format(kind, fields)}"
    if record.complaint:
        line.refuse("bad_line", record.complaint + ("" if kind in (*TABLES, *WORKBOOKS) else advice))
        return line
    try:
        if is_easyedit(fields):
            fields, line.unused_fields = from_easyedit(fields)
        if FACT_FIELDS & set(fields):
            line.item = ITEM.validate_python(fields)
            if line.origin.version and isinstance(line.item, FactItem):  # its names were right already
                line.item = line.item.model_copy(update={"create": True})
        else:
            line.item = EditItem.model_validate({"model": model, **fields})
    except ValidationError as error:
        line.refuse("bad_line", describe_invalid(error) + advice)
    except ValueError as error:
        line.refuse("bad_line", str(error) + advice)
    return line


def _describe_format(kind: str, fields: Fields) -> str:
    if kind in (*TABLES, *WORKBOOKS):
        return TABLE_LINE
    return EASYEDIT_LINE if is_easyedit(fields) or (kind == JSON and not fields) else JSONL_LINE
