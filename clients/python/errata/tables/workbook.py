"""The rows of one sheet of an Excel workbook, each cell as a text.

A workbook (ECMA-376) is a zip archive of XML. openpyxl reads its cells row by row; what it does not tell while it reads
so, merged cells and formulas without a value, is found in the bytes of the sheet.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import repeat
from typing import Any, BinaryIO

SUFFIXES = (".xlsx", ".xlsm")
# First bytes of a workbook, and of one that is locked or of 1997
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
MAX_UNPACKED_BYTES = 400_000_000
MAX_CELLS = 10_000_000  # cells of a sheet, empty ones before the last of a row among them
NOT_READ = "Excel workbook that is locked by a password, or of Excel 97: save it as .xlsx without a password"
FORMULA_ERROR = re.compile(r"#(?:REF|N/A|NAME|VALUE|DIV/0|NULL|NUM|SPILL|CALC)[!?]?", re.IGNORECASE)
# Characters as ECMA-376 (22.9.2.19) writes them
ESCAPES = re.compile(r"(?:_x[0-9A-Fa-f]{4}_)+")

_MARKUP = re.compile(rb"<(?:\w+:)?(?:(f)[\s/>]|mergeCell\s[^>]*?ref=\"([A-Z0-9:]+)\")")
_PIECE_BYTES, _OVERLAP_BYTES = 1 << 20, 200

Row = tuple[int, list[str]]
"""The number of a row, counted from 1, and the texts of its cells up to the last one with a value."""


class WorkbookError(ValueError):
    """The workbook cannot be read; the text says why, and what to do."""


def read_sheet(file: BinaryIO, sheet: str = "") -> Iterator[Row]:
    """Yield the rows with a value of a sheet, "" for the only one; raise WorkbookError where it cannot be read."""
    from errata.tables.book import open_book  # a command that reads no workbook need not wait for openpyxl

    try:
        check_size(file)
        book = open_book(file, data_only=True)
        name = choose_sheet(book, sheet)
        has_source = has_formulas(file, book[name])
        formulas = _rows(open_book(file, data_only=False)[name]) if has_source else repeat(())
        for values, sources in zip(_rows(book[name]), formulas, strict=False):
            for value, source in zip(values, sources, strict=False):
                is_empty_text = value.data_type == "str"  # what the formula showed
                if value.value is None and source.data_type == "f" and not is_empty_text:
                    place = f"{source.column_letter}{source.row}"
                    raise WorkbookError(
                        f"the formula in {place} was never calculated: open the workbook and save it"
                    )
            number = next((cell.row for cell in values if cell.value is not None), None)
            texts = [to_text(cell.value) for cell in values]
            while texts and not texts[-1].strip():
                texts.pop()
            if number is not None and texts:
                yield number, texts
    except WorkbookError:
        raise
    except Exception as error:  # a parser of foreign bytes: whatever it raises, they are no workbook
        raise WorkbookError(
            f"it is no Excel workbook that can be read ({error}): open it and save it as .xlsx, or as CSV"
        ) from error


def to_text(value: object) -> str:
    """Return the text of a cell; README.md has the rule."""
    match value:
        case str():
            return ESCAPES.sub(_unescape, value).replace("\r\n", "\n").replace("\r", "\n")
        case None:
            return ""
        case bool():
            return str(value).upper()
        case float():
            return f"{value:.15g}"
        case datetime():
            return (
                f"{value:%Y-%m-%d}" if value.time() == time() else f"{value:%Y-%m-%d} {to_text(value.time())}"
            )
        case date():
            return value.isoformat()
        case time():
            return value.isoformat("seconds" if value.second else "minutes")
        case timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    return str(value)


def _unescape(run: re.Match[str]) -> str:
    """Return the characters of escapes, as of a carriage return that XML would take for a line end."""
    try:
        return bytes.fromhex(run[0].replace("_x", "").replace("_", "")).decode("utf-16-be")
    except UnicodeDecodeError:  # half a character
        return run[0]


def check_size(file: BinaryIO) -> None:
    """Raise WorkbookError if the archive unpacks to more than can be read."""
    with zipfile.ZipFile(file) as archive:
        n_bytes = sum(member.file_size for member in archive.infolist())
    if n_bytes > MAX_UNPACKED_BYTES:
        raise WorkbookError(
            f"the workbook unpacks to {n_bytes:,} bytes, and {MAX_UNPACKED_BYTES:,} are the most: save the sheet as CSV"
        )


def _rows(sheet: Any) -> Iterator[Any]:
    """Yield the rows of a sheet; raise WorkbookError if they have too many cells."""
    sheet.reset_dimensions()  # a size that a program wrote wrongly, or that styles of empty cells make
    n_cells = 0
    for row in sheet.iter_rows():
        n_cells += len(row)
        if n_cells > MAX_CELLS:
            raise WorkbookError(
                f"the sheet has more than {MAX_CELLS:,} cells: save it as CSV, in several parts"
            )
        yield row


def choose_sheet(book: Any, sheet: str) -> str:
    """Return the name of this sheet, or of the only visible one with a value; raise WorkbookError for none."""
    names = [worksheet.title for worksheet in book.worksheets]
    if sheet:
        candidates = [name for name in names if name.strip().casefold() == sheet.strip().casefold()]
    else:
        candidates = [
            worksheet.title
            for worksheet in book.worksheets
            if worksheet.sheet_state == "visible"
            and any(cell.value is not None for row in _rows(worksheet) for cell in row)
        ]
    if len(candidates) == 1:
        return str(candidates[0])
    if sheet:
        raise WorkbookError(f"the workbook has no sheet {sheet!r}: it has {', '.join(map(repr, names))}")
    if not candidates:
        raise WorkbookError("the workbook has no cell with a value")
    titles = ", ".join(map(repr, candidates))
    raise WorkbookError(
        f"the workbook has {len(candidates)} sheets with cells, {titles}: name one (`sheet`, --sheet)"
    )


def has_formulas(file: BinaryIO, sheet: Any) -> bool:
    """Return whether the sheet has a formula; raise WorkbookError if cells are merged."""
    is_calculated, rest = False, b""
    with zipfile.ZipFile(file) as archive, archive.open(sheet._worksheet_path) as part:
        while piece := part.read(_PIECE_BYTES):
            for formula, merged_cells in _MARKUP.findall(rest + piece):
                is_calculated |= bool(formula)
                if merged_cells:
                    raise WorkbookError(
                        f"the cells {merged_cells.decode()} of the sheet {sheet.title!r} are merged: take them apart, "
                        "and write the value into each cell that it belongs to"
                    )
            rest = piece[-_OVERLAP_BYTES:]
    return is_calculated
