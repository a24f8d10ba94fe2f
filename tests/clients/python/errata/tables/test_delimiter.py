"""The headings of a table are those that an import will read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from errata.tables.delimiter import read_headings

from tests.workbooks import workbook

ROWS = "Name;Opening hours;Note\r\nOak Hall;9;\r\n"


@pytest.mark.parametrize(
    ("name", "content", "headings"),
    [
        ("a.csv", ROWS.encode("utf-8-sig"), ["Name", "Opening hours", "Note"]),
        ("a.csv", f"sep=;\r\n{ROWS}".encode("utf-8-sig"), ["Name", "Opening hours", "Note"]),
        ("a.csv", b'"sep=|"\nName|"a|b"\n', ["Name", "a|b"]),
        ("a.csv", b'Name, "a, b"\n"x', ["Name", "a, b"]),
        ("a.xlsx", workbook([["Name", "Note_x000D_"], ["x", "y"]]), ["Name", "Note\n"]),
        ("a.csv.gz", gzip.compress(ROWS.encode(), mtime=0), []),
        ("a.csv", b"", []),
        ("a.csv", b'"a', []),
    ],
    ids=[f"table {n}" for n in range(8)],
)
def test_the_headings_are_found(tmp_path: Path, name: str, content: bytes, headings: list[str]) -> None:
    (tmp_path / name).write_bytes(content)
    assert read_headings(tmp_path / name) == headings
