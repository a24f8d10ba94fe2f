"""The rows of a table that is a text, and which mark stands between its columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

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
