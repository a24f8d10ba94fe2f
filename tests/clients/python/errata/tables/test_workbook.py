"""A sheet becomes rows of texts by one rule; a workbook that cannot be read is refused with what to do."""

from __future__ import annotations

import tracemalloc
import zipfile
from collections import Counter
from datetime import date, datetime, time, timedelta
from io import BytesIO
from random import Random
from typing import Any

import pytest
from errata.tables.cells import NO_DATE
from errata.tables.limits import FREE_TEXTS, MAX_ELEMENTS, MAX_PART_BYTES
from errata.tables.workbook import WorkbookError, describe_fault, read_sheet
from errata.tables.writer import format_table
from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.xml.constants import SHEET_MAIN_NS

from tests.workbooks import replace_part, share_texts, workbook

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


@pytest.mark.parametrize("value", [b"<v></v>", b"<v/>", b""])
def test_a_formula_that_gives_an_empty_text_is_an_empty_cell(value: bytes) -> None:
    content = workbook([["a", "b"], ['=IF(B3="","",B3)', "c"], ['=IF(B4="","",B4)']])
    for place in (b"A2", b"A3"):
        content = replace_part(content, SHEET1, b'r="%s"' % place, b'r="%s" t="str"' % place)
    content = replace_part(content, SHEET1, b"<v></v>", value)
    assert rows_of(content) == [(1, ["a", "b"]), (2, ["", "c"])]


@pytest.mark.parametrize(
    ("number", "value", "text"),
    [
        *((number, 45000, "2023-03-15") for number in (14, 27, 31, 36, 50, 58, 71, 81)),
        *((number, 45000.4375, "2023-03-15 10:30") for number in (22, 32, 55, 75)),
        *((number, 0.4375, "10:30") for number in (20, 32, 55, 75)),
        *((number, 1.25, "30:00") for number in (46, 79)),
        *((number, 45000, "45000") for number in (0, 1, 37, 49, 59, 62, 70)),
        (200, 45000, "45000"),  # with an entry of its own
    ],
)
def test_a_built_in_format_of_dates_is_one_in_every_edition(number: int, value: float, text: str) -> None:
    content = workbook([[date(2024, 5, 1)]])
    for name, old, new in (
        ("xl/styles.xml", '<xf numFmtId="164"', f'<xf numFmtId="{number}"'),
        ("xl/styles.xml", 'numFmtId="164" formatCode="yyyy-mm-dd"', 'numFmtId="200" formatCode="0"'),
        (SHEET1, "<v>45413</v>", f"<v>{value}</v>"),
    ):
        content = replace_part(content, name, old.encode(), new.encode())
    assert rows_of(content) == [(1, [text])]


@pytest.mark.parametrize("number", [31, 55])
def test_a_built_in_number_with_an_entry_is_what_the_entry_says(number: int) -> None:
    content = replace_part(workbook([[date(2024, 5, 1)]]), "xl/styles.xml", b'"164"', f'"{number}"'.encode())
    content = replace_part(content, "xl/styles.xml", b"yyyy-mm-dd", b"0")
    assert rows_of(content) == [(1, ["45413"])]


@pytest.mark.parametrize("store", [share_texts, bytes])
@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("Lima_x000D_", "Lima"),
        ("Lima_x000D_\nCusco", "Lima\nCusco"),
        ("a_x000D_b_x000d_\nc", "a\nb\nc"),
        ("a_x0041__x00e9_b", "aAéb"),
        ("_xD83D__xDE00_", "😀"),
        ("_xD83D_", "_xD83D_"),
        ("_x005F_x000D_", "_x000D_"),
        ("_x005F_x005F_x005F_x000D_", "_x005F_x000D_"),
        ("x005F_", "x005F_"),
        ("_x41_ _X0041_ _x00g1_", "_x41_ _X0041_ _x00g1_"),
    ],
)
def test_an_escape_is_the_character_for_which_it_stands(store: Any, cell: str, text: str) -> None:
    [(_, [actual, _])] = rows_of(store(workbook([[cell, "end"]])))
    assert actual.rstrip("\n") == text


@pytest.mark.parametrize(
    "text", ["_x000D_", "_x005F_x000D_", "__x0041_", "x005F_", "=1+1", "007", "a\n b", "😀", "\uffff"]
)
def test_what_is_written_reads_back_to_the_letter(text: str) -> None:
    assert rows_of(format_table(".xlsx", ["a"], [[text]])) == [(1, ["a"]), (2, [text])]


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
""" + b"".join(
    f'<!ENTITY {chr(n + 1)} "{f"&{chr(n)};" * 10}">'.encode() for n in range(ord("b"), ord("i"))
) + b"]><worksheet>&i;</worksheet>"  # fmt: skip


def bomb() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/a.xml", "w") as part:
        for _ in range(16):
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
        (bomb(), r"unpacks to 16,000,000 bytes, and 11,\d+,\d+ are the most: save the sheet as CSV"),
    ],
    ids=["merged", "uncalculated", "empty", "cut", "zip", "xml", "entities", "bomb"],
)
def test_a_workbook_that_cannot_be_read_is_refused_with_what_to_do(content: bytes, problem: str) -> None:
    with pytest.raises(WorkbookError, match=problem):
        rows_of(content)


SHARED = "xl/sharedStrings.xml"
PLAIN = workbook([["first"], ["end"]])
END = b'r="A2"'
NOISE = Random(0).randbytes(150_000).hex().encode()  # it makes a packed file large


def change(old: bytes, new: bytes, part: str = SHEET1, content: bytes = PLAIN) -> bytes:
    return replace_part(content, part, old, new)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (change(END, b'r="A1048577"'), "a row 1,048,577, and Excel has 1,048,576"),
        (change(END, b'r="XFE2"'), "a column 16,385, and Excel has 16,384"),
        (change(b"</row>", b"<c/>" * MAX_ELEMENTS + b"</row>"), "a row of it has more than 200,000 elements"),
        (change(b"</sst>", b"<si/>" * 2 * FREE_TEXTS + b"</sst>", SHARED, share_texts(PLAIN)), "texts"),
        (
            change(b"</styleSheet>", NOISE + b" " * MAX_PART_BYTES, "xl/styles.xml"),
            "its part xl/styles.xml has",
        ),
        (
            change(b"first", b"x" * 1_000_001),
            "the row 1 has 1,000,001 characters, and 1,000,000 are the most",
        ),
    ],
    ids=["row", "column", "elements", "texts", "styles", "characters"],
)
def test_a_workbook_that_costs_too_much_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(WorkbookError, match=problem):
        rows_of(content)


@pytest.mark.parametrize(
    "content",
    [
        change(END, b'r="XFD1048576"'),
        change(b"<dimension ref=", b'<dimension ref="A1:XFD1048576" was='),
        change(b"<sheetData>", b"<x/>" * 20_000 + b"<sheetData>" + b"<row/>" * 20_000),
        change(b"</sst>", b"<si/>" * 20_000 + b"</sst>", SHARED, share_texts(PLAIN)),
    ],
    ids=["far", "claim", "elements", "texts"],
)
def test_what_a_workbook_claims_to_have_costs_nothing(content: bytes) -> None:
    tracemalloc.start()
    try:
        assert [texts[-1] for _, texts in rows_of(content)] == ["first", "end"]
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2_000_000


def style(number_format: str, value: float) -> bytes:
    """Return a workbook of a text and a number in this format."""
    book = Workbook()
    sheet = book.worksheets[0]
    sheet["A1"], sheet["B1"] = "founded", value
    sheet["B1"].number_format = number_format
    file = BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("number_format", "value", "text"),
    [
        ("yyyy-mm-dd", 61, "1900-03-01"),
        ("yyyy-mm-dd", 60, NO_DATE),
        ("yyyy-mm-dd", 59, "1900-02-28"),
        ("yyyy-mm-dd", 1, "1900-01-01"),
        ("yyyy-mm-dd", 0, NO_DATE),
        ("yyyy-mm-dd", 0.5, NO_DATE),
        ("yyyy-mm-dd hh:mm", -31497.5, NO_DATE),
        ("hh:mm", 0.4375, "10:30"),
        ("hh:mm", 0, "00:00"),
        ("[h]:mm", 40.5, "972:00"),
        ("0.00", -31497.5, "-31497.5"),
    ],
)
def test_a_date_before_those_of_workbooks_is_no_text(number_format: str, value: float, text: str) -> None:
    assert list(read_sheet(BytesIO(style(number_format, value)))) == [(1, ["founded", text])]
    assert bool(describe_fault(text)) == (text == NO_DATE)


def test_what_excel_hides_is_left_out_and_counted() -> None:
    book = Workbook()
    sheet = book.worksheets[0]
    for row in (["name", "salary", "office"], ["Ina", 9, "Orla"], ["Per", 8, "Vey"], [None, None, None]):
        sheet.append(row)
    sheet.column_dimensions["B"].hidden = sheet.column_dimensions["F"].hidden = True
    sheet.row_dimensions[3].hidden = sheet.row_dimensions[4].hidden = True
    sheet["D1"], sheet["D2"], sheet["E2"], sheet["E3"] = "code", "x", "Kai", "Ola"
    sheet.column_dimensions["D"].width, sheet["E2"].font = 77, Font(strike=True)
    sheet["A1"].font = sheet["E3"].font = Font(strike=True)
    file, hidden = BytesIO(), Counter[str]()
    book.save(file)
    content = replace_part(file.getvalue(), "xl/worksheets/sheet1.xml", b'width="77"', b'width="0"')
    assert list(read_sheet(BytesIO(content), hidden=hidden)) == [
        (1, ["name", "office"]),
        (2, ["Ina", "Orla"]),
    ]
    assert hidden == {"hidden_row": 1, "hidden_column": 2, "struck_out": 1}


def test_a_strict_workbook_is_refused_with_how_to_save_it() -> None:
    main, strict = SHEET_MAIN_NS.encode(), b"http://purl.oclc.org/ooxml/spreadsheetml/main"
    content = replace_part(workbook([["a"]]), "xl/workbook.xml", main, strict)
    with pytest.raises(WorkbookError, match='"Strict Open XML" workbook: save it as "Excel Workbook'):
        list(read_sheet(BytesIO(content)))
