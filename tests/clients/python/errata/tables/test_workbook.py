"""A sheet becomes rows of texts by one rule; a workbook that cannot be read is refused with what to do."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

import pytest
from errata.tables.workbook import WorkbookError, read_sheet

from tests.workbooks import replace_part, workbook

SHEET1 = "xl/worksheets/sheet1.xml"
ROWS = [["Museum", "Phone"], ["Tide Mill", "555 01"]]


def rows_of(content: bytes, sheet: str = "") -> list[tuple[int, list[str]]]:
    return list(read_sheet(BytesIO(content), sheet))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("555 01", "555 01"),
        (1911, "1911"),
        (1911.0, "1911"),
        (0.1 + 0.2, "0.3"),
        (7.5, "7.5"),
        (1e300, "1e+300"),
        (True, "TRUE"),
        (date(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1, 10, 30), "2024-05-01 10:30"),
        (time(9, 5), "09:05"),
        (time(9, 5, 7), "09:05:07"),
        (timedelta(hours=26, minutes=30), "26:30"),
    ],
)
def test_a_cell_becomes_a_text_by_one_rule(value: Any, text: str) -> None:
    assert rows_of(workbook([["a"], [value]])) == [(1, ["a"]), (2, [text])]


def test_the_only_visible_sheet_with_cells_is_read_and_of_several_the_named() -> None:
    assert rows_of(workbook({"Notes": [], "Museums": ROWS})) == [(1, ROWS[0]), (2, ROWS[1])]
    content = workbook({"Old": [["x"]], "Museums": ROWS})
    assert rows_of(content, " museums ") == [(1, ROWS[0]), (2, ROWS[1])]
    with pytest.raises(
        WorkbookError, match=r"2 sheets with cells, 'Old', 'Museums': name one \(`sheet`, --sheet\)"
    ):
        rows_of(content)
    with pytest.raises(WorkbookError, match="no sheet 'New': it has 'Old', 'Museums'"):
        rows_of(content, "New")


FORMULA = workbook([["a"], ["=1/0"]])


def test_a_formula_is_what_it_showed_and_its_error_stays_visible() -> None:
    content = replace_part(FORMULA, SHEET1, b"<v></v>", b"<v>7</v>")
    assert rows_of(content)[1] == (2, ["7"])
    error = replace_part(
        replace_part(FORMULA, SHEET1, b"<v></v>", b"<v>#REF!</v>"), SHEET1, b'r="A2"', b'r="A2" t="e"'
    )
    assert rows_of(error)[1] == (2, ["#REF!"])


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
""" + b"".join(
    f'<!ENTITY {chr(n + 1)} "{f"&{chr(n)};" * 10}">'.encode() for n in range(ord("b"), ord("i"))
) + b"]><worksheet>&i;</worksheet>"  # fmt: skip


def bomb() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/a.xml", "w") as part:
        for _ in range(401):
            part.write(bytes(1_000_000))
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (workbook(ROWS, merge="A2:A5"), r"cells A2:A5 of the sheet 'Sheet1' are merged: take them apart"),
        (FORMULA, "the formula in A2 was never calculated: open the workbook and save it"),
        (workbook([]), "no cell with a value"),
        (workbook(ROWS)[:-30], "no Excel workbook that can be read"),
        (b"PK\x03\x04...", "no Excel workbook that can be read"),
        (replace_part(workbook(ROWS), SHEET1, b"</sheetData>", b""), "no Excel workbook that can be read"),
        (replace_part(workbook(ROWS), SHEET1, b"<worksheet", LAUGHS), "no Excel workbook that can be read"),
        (bomb(), "unpacks to 401,000,000 bytes, and 400,000,000 are the most: save the sheet as CSV"),
    ],
    ids=["merged", "uncalculated", "empty", "cut", "zip", "xml", "entities", "bomb"],
)
def test_a_workbook_that_cannot_be_read_is_refused_with_what_to_do(content: bytes, problem: str) -> None:
    with pytest.raises(WorkbookError, match=problem):
        rows_of(content)
