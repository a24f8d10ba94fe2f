"""Writes a table as CSV or as a workbook, so that it reads back to the letter."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

SUFFIXES = {".csv": ",", ".tsv": "\t", ".xlsx": ""}  # delimiter by the end of a file's name
MAX_CELL_CHARS = 32_767  # limit of a workbook
# What would be read as an escape, and characters that XML has not or changes
TO_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)|[\r\ufffe\uffff]")

# What a spreadsheet computes where it opens a CSV; numbers are harmless
FORMULA = re.compile(r"[=@]|[+-](?![\d.,\s]*\Z)")


def format_table(suffix: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Return the file of a table, by the end of its name; raise ValueError for a cell that no workbook takes."""
    if suffix == ".xlsx":
        return _format_workbook([columns, *rows])
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=SUFFIXES[suffix]).writerows([columns, *rows])
    return file.getvalue().encode("utf-8-sig")  # Excel takes a CSV without the mark for another encoding


def warn_of_formulas(suffix: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a sentence if a spreadsheet would compute cells of a file with this suffix."""
    n_cells = sum(FORMULA.match(cell) is not None for row in rows for cell in row)
    if not n_cells or suffix == ".xlsx":
        return []
    return [
        f"{n_cells:,} cell{'s' * (n_cells > 1)} with =, +, - or @ at the beginning: a spreadsheet that opens this "
        "file computes them as formulas; open an export as .xlsx there, in which they are texts"
    ]


def _format_workbook(rows: Iterable[Sequence[str]]) -> bytes:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Errata")
    sheet.freeze_panes = "B2"
    for row in rows:
        cells = []
        for text in row:
            if len(text) > MAX_CELL_CHARS:
                raise ValueError(
                    f"a cell has {len(text):,} characters, and Excel takes {MAX_CELL_CHARS:,}: write CSV"
                )
            content = TO_ESCAPE.sub(lambda character: f"_x{ord(character[0]):04X}_", text)
            cell = WriteOnlyCell(sheet, content or None)
            if text:
                cell.data_type = "s"  # a text that begins with = stays a text, and 007 keeps its zeros
            cells.append(cell)
        sheet.append(cells)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()
