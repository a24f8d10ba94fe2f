"""The rows of one sheet of an Excel workbook, each cell as a text.

A workbook (ECMA-376) is a zip archive of XML, whose cells are read row by row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, BinaryIO

from errata.tables.cells import FORMULA_ERROR, NO_DATE, to_text
from errata.tables.limits import MAX_CELLS, MAX_COLUMNS, MAX_ROW_CHARS, MAX_ROWS, MAX_UNPACKED_BYTES

if TYPE_CHECKING:
    from errata.tables.book import Book, Cell, Sheet, SheetParser

SUFFIXES = (".xlsx", ".xlsm")
# First bytes of a workbook, and of one that is locked or of 1997
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
NOT_READ = "Excel workbook that is locked by a password, or of Excel 97: save it as .xlsx without a password"

Row = tuple[int, list[str]]
"""The number of a row, counted from 1, and the texts of its cells up to the last one with a value."""


class WorkbookError(ValueError):
    """The workbook cannot be read; the text says why, and what to do."""


def read_sheet(file: BinaryIO, sheet: str = "", hidden: Counter[str] | None = None) -> Iterator[Row]:
    """Yield the rows with a value of a sheet, without what Excel hides.

    Args:
        file: The workbook.
        sheet: Name of the sheet; "" for the only visible one with a value.
        hidden: Gets the counts of rows and columns that are left out.

    Raises:
        WorkbookError: It cannot be read.
    """
    from errata.tables.book import Book  # a command that reads no workbook need not wait for openpyxl

    try:
        book = Book(file)
        target = choose_sheet(book, sheet)
        parser = book.parse(target)
        yield from _iterate_rows(parser)
        if hidden is not None:
            hidden += parser.hidden
        if parser.merged_range:
            raise WorkbookError(
                f"the cells {parser.merged_range} of the sheet {target.title!r} are merged: take them apart, "
                "and write the value into each cell that it belongs to"
            )
    except (WorkbookError, MemoryError):
        raise
    except Exception as error:  # a parser of foreign bytes: whatever it raises, they are no workbook
        raise WorkbookError(
            f"it is no Excel workbook that can be read ({error}): open it and save it as .xlsx, or as CSV"
        ) from error


def describe_fault(cell: str) -> str:
    """Return the fault of the text of a cell, "" for none."""
    if cell.strip() == NO_DATE:
        return "is a date that workbooks cannot hold, such as one before 1900: write it as text"
    return f"shows the error of a formula, {cell.strip()}" if FORMULA_ERROR.fullmatch(cell.strip()) else ""


def _iterate_rows(parser: SheetParser) -> Iterator[Row]:
    """Yield the rows with a value; raise WorkbookError if there is more than can be read."""
    n_cells = n_chars = 0
    for cells in parser.parse():
        texts = list_texts(cells, parser.hidden_columns)
        n_cells += max(len(cells), len(texts))
        row_chars = sum(map(len, texts))
        n_chars += row_chars
        if n_cells > MAX_CELLS or n_chars > MAX_UNPACKED_BYTES:
            limits = f"{MAX_CELLS:,} cells or {MAX_UNPACKED_BYTES:,} characters"
            raise WorkbookError(f"the sheet has more than {limits}: save it as CSV, in several parts")
        if texts:
            number = next(cell["row"] for cell in cells if cell["value"] is not None)
            if not 1 <= number <= MAX_ROWS:
                raise WorkbookError(f"the sheet has a row {number:,}, and Excel has {MAX_ROWS:,}")
            if row_chars > MAX_ROW_CHARS:
                raise WorkbookError(
                    f"the row {number:,} has {row_chars:,} characters, and {MAX_ROW_CHARS:,} are the most"
                )
            yield number, texts


def list_texts(cells: list[Cell], hidden_columns: Container[int] = ()) -> list[str]:
    """Return the texts of a row, up to the last cell that has one, without hidden columns."""
    texts: dict[int, str] = {}
    for cell in cells:
        if not 1 <= cell["column"] <= MAX_COLUMNS:
            raise WorkbookError(f"the sheet has a column {cell['column']:,}, and Excel has {MAX_COLUMNS:,}")
        if cell["is_uncalculated"] and cell["data_type"] != "str":  # an empty text is what that one showed
            from openpyxl.utils import get_column_letter

            place = f"{get_column_letter(cell['column'])}{cell['row']}"
            raise WorkbookError(f"the formula in {place} was never calculated: open the workbook and save it")
        if (text := to_text(cell["value"])).strip():
            texts[cell["column"]] = text
    columns = range(1, max(texts, default=0) + 1)
    return [texts.get(column, "") for column in columns if column not in hidden_columns]


def choose_sheet(book: Book, sheet: str) -> Sheet:
    """Return this sheet, or the only visible one with a value; raise WorkbookError for none."""
    if sheet:
        candidates = [
            item for item in book.sheets if item.title.strip().casefold() == sheet.strip().casefold()
        ]
    else:
        candidates = [
            item
            for item in book.sheets
            if item.is_visible
            and any(cell["value"] is not None for cells in book.parse(item).parse() for cell in cells)
        ]
    if len(candidates) == 1:
        return candidates[0]
    if sheet:
        names = ", ".join(repr(item.title) for item in book.sheets)
        raise WorkbookError(f"the workbook has no sheet {sheet!r}: it has {names}")
    if not candidates:
        raise WorkbookError("the workbook has no cell with a value")
    titles = ", ".join(repr(item.title) for item in candidates)
    raise WorkbookError(
        f"the workbook has {len(candidates)} sheets with cells, {titles}: name one (`sheet`, --sheet)"
    )
