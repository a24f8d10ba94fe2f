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
    for row in rows:
        cells: dict[str, object] = {}
        for name, value in row.items():
            if isinstance(value, list):
                cells[name] = " | ".join(map(str, value))
            else:
                cells[name] = str(value).lower() if isinstance(value, bool) else value
        table.writerow(cells)
    return out.getvalue()
