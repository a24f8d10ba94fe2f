"""The headings of a table, before it is sent."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path

from errata.tables.delimiter import split_rows
from errata.tables.workbook import SUFFIXES, read_sheet

MAX_HEADER_BYTES = 100_000


def read_headings(file: Path, sheet: str = "") -> list[str]:
    """Return the headings of a workbook or a CSV, or raise OSError or WorkbookError; none of a packed file."""
    with file.open("rb") as source:
        if file.suffix.lower() in SUFFIXES:
            return next((texts for _, texts in read_sheet(source, sheet)), [])
        lines = source.readline(MAX_HEADER_BYTES) + source.readline(
            MAX_HEADER_BYTES
        )  # the first may be sep=;
    try:
        return list_headings(lines.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return []


def list_headings(text: str) -> list[str]:
    """Return the first cells of a CSV; none if they cannot be read."""
    with suppress(csv.Error):
        return next((cells for _, cells in split_rows(text) if any(map(str.strip, cells))), [])
    return []
