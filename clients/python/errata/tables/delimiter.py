"""Which mark stands between the columns of a table that is a text."""

from __future__ import annotations

DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma"}


def find_delimiter(header: str) -> str:
    """Return the mark that stands most often between the columns of a header; the comma if none does."""
    mark = max(DELIMITERS, key=header.count)
    return mark if mark in header else ","
