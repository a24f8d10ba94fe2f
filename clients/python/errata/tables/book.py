"""Opens a workbook by openpyxl, and adds what openpyxl leaves out: whole texts, and dates of Asian editions of Excel.

openpyxl takes half of an escape out of the shared texts, so that `_x005F_x000D_` and `_x000D_` become the same. It
knows the built-in formats 0 to 49 of ECMA-376 (18.8.30); those after them are used without an entry, too.
"""

from __future__ import annotations

from typing import Any, BinaryIO

from openpyxl.cell.text import Text
from openpyxl.reader.excel import ExcelReader
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
from openpyxl.xml.functions import iterparse

# Chinese, Japanese and Korean dates and times, and Thai ones
DATE_FORMATS = {*range(27, 37), *range(50, 59), *range(71, 82)}
DURATION_FORMATS = {79}


class Reader(ExcelReader):
    """Reads shared texts with their escapes."""

    def read_strings(self) -> None:
        package: Any = self.package
        part = package.find(SHARED_STRINGS)
        if part is None:
            return
        with self.archive.open(part.PartName[1:]) as source:
            for _, node in iterparse(source):
                if node.tag == f"{{{SHEET_MAIN_NS}}}si":
                    text: Any = Text.from_tree(node)
                    self.shared_strings.append(text.content)
                    node.clear()


def open_book(file: BinaryIO, data_only: bool) -> Any:
    """Open a workbook to be read row by row; `data_only` gives what a formula showed, and not its source."""
    reader = Reader(file, read_only=True, data_only=data_only)
    reader.read()
    book: Any = reader.wb
    for place, style in enumerate(book._cell_styles):
        if style.numFmtId in DATE_FORMATS:  # formats with an entry have other numbers by now
            book._date_formats.add(place)
        if style.numFmtId in DURATION_FORMATS:
            book._timedelta_formats.add(place)
    return book
