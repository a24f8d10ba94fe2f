"""The headings of a table, before it is sent."""

from __future__ import annotations

import csv
from pathlib import Path

from errata.tables.delimiter import find_delimiter
from errata.tables.workbook import SUFFIXES, read_sheet

MAX_HEADER_BYTES = 100_000


def read_headings(file: Path, sheet: str = "") -> list[str]:
    """Return the headings of a workbook or a CSV; none if the first line is not text, as in a packed file.

    Raises:
        OSError: The file cannot be read.
        WorkbookError: The workbook cannot be read.
    """
    with file.open("rb") as source:
        if file.suffix.lower() in SUFFIXES:
            return next((texts for _, texts in read_sheet(source, sheet)), [])
        line = source.readline(MAX_HEADER_BYTES)
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        return []
    return next(csv.reader([text], delimiter=find_delimiter(text), skipinitialspace=True), [])
