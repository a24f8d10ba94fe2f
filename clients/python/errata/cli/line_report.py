"""What happened to each line of a file, as a file of its own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from errata.corrections.line import Line

CSV, JSONL = ".csv", ".jsonl"
ENDINGS = (JSONL, CSV)


def written(lines: Sequence[Line], kind: str) -> str:
    """kind: how the name of the report ends."""
    rows = [line.told() for line in lines]
    if kind == JSONL:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        return " | ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else value
