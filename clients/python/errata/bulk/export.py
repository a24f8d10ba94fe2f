"""Every active edit as a table, which `errata edit --file` and the console take again without a change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from errata.bulk.records import COLUMNS, EXAMPLE_BREAK
from errata.wire import ActiveEditList

TITLES = {"paraphrases": "also", "counterexamples": "not"}
LEADING = ("question", "answer", "subject", "relation", "object", "act")  # columns that a table has first


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
