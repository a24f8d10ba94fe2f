"""The rows of a table that is a text, which mark stands between its columns, and its headings."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from errata.tables.workbook import SUFFIXES, read_sheet

MAX_HEADER_BYTES = 100_000
DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma"}
# A first line that tells Excel the mark, such as sep=;
DECLARATION = re.compile(r'\s*"?sep=([^\w\s"]|\t)"?[ \r]*(?:\n|\Z)', re.IGNORECASE)


def find_delimiter(text: str) -> str:
    """Return the mark that a table declares, or that stands most often in its header; the comma if none does."""
    if declaration := DECLARATION.match(text):
        return declaration[1]
    header = text.lstrip("\r\n").partition("\n")[0]
    mark = max(DELIMITERS, key=header.count)
    return mark if mark in header else ","


def split_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with the number of its last line; raise csv.Error where quotes do not pair up."""
    mark, declaration = find_delimiter(text), DECLARATION.match(text)
    rows = csv.reader(
        io.StringIO(text, newline=""), delimiter=mark, strict=True, skipinitialspace=mark != "\t"
    )
    n_lines = declaration[0].count("\n") if declaration else 0
    for cells in rows:
        if rows.line_num > n_lines:
            yield rows.line_num, cells


def read_headings(file: Path, sheet: str = "") -> list[str]:
    """Return the headings of a workbook or a CSV, or raise OSError or WorkbookError; none of a packed file."""
    with file.open("rb") as source:
        if file.suffix.lower() in SUFFIXES:
            return next((texts for _, texts in read_sheet(source, sheet)), [])
        lines = b"".join(source.readline(MAX_HEADER_BYTES) for _ in range(2))  # the first may be sep=;
    try:
        return list_headings(lines.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return []


def list_headings(text: str) -> list[str]:
    """Return the first cells of a CSV; none if they cannot be read."""
    with suppress(csv.Error):
        return next((cells for _, cells in split_rows(text) if any(map(str.strip, cells))), [])
    return []
