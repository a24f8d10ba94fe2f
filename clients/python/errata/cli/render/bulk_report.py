"""The report file of a run: a line for each correction."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from errata.bulk.line import Line

CSV, JSONL = ".csv", ".jsonl"
REPORT_SUFFIXES = (JSONL, CSV)


def format_report(lines: Sequence[Line], suffix: str) -> str:
    """Return the text of a report file, a row for each line."""
    rows = [line.to_row() for line in lines]
    if suffix == JSONL:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    table.writeheader()
    table.writerows({name: format_cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def format_cell(value: object) -> object:
    """Return the cell of a value: texts are joined by bars, and truth values are as in JSON."""
    if isinstance(value, list):
        return " | ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else value
