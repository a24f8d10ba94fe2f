"""Opens a workbook by openpyxl, and adds what openpyxl leaves out: bounds, whole texts, and dates of Asian editions.

openpyxl keeps each element that it has passed, and fills a sheet up to the size that it claims. It takes half of an
escape out of the shared texts, so that `_x005F_x000D_` and `_x000D_` become the same. It knows the built-in formats 0
to 49 of ECMA-376 (18.8.30); those after them are used without an entry, too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Generator, Iterator
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZipFile, ZipInfo

from openpyxl.cell.text import Text
from openpyxl.reader.excel import ExcelReader, _find_workbook_part  # type: ignore[attr-defined]
from openpyxl.styles.numbers import BUILTIN_FORMATS, is_datetime
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.utils.datetime import WINDOWS_EPOCH
from openpyxl.worksheet._reader import COL_TAG, FORMULA_TAG, ROW_TAG, VALUE_TAG, WorkSheetParser
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
from openpyxl.xml.functions import iterparse

from errata.tables.cells import NO_DATE
from errata.tables.limits import (
    FREE_BOOK_BYTES,
    FREE_TEXTS,
    MAX_COLUMNS,
    MAX_ELEMENTS,
    MAX_PART_BYTES,
    MAX_RATIO,
    MAX_UNPACKED_BYTES,
)
from errata.tables.workbook import WorkbookError

# Chinese, Japanese and Korean dates and times, and Thai ones
DATE_FORMATS = {*range(27, 37), *range(50, 59), *range(71, 82)}
DURATION_FORMATS = {79}
STRICT = b"http://purl.oclc.org/ooxml/spreadsheetml/main"  # namespace of Strict Open XML (ISO/IEC 29500-1)
NO_DAY = 60  # 1900-02-29, which Excel has and the calendar has not
TEXT_TAG, MERGE_TAG = f"{{{SHEET_MAIN_NS}}}si", f"{{{SHEET_MAIN_NS}}}mergeCell"

Cell = dict[str, Any]
"""What openpyxl reads of a cell: row, column, value, data_type; and whether a formula has no value."""


class Sheet(NamedTuple):
    title: str
    is_visible: bool
    path: str  # name of its part in the archive


class Archive(ZipFile):
    """The parts of a workbook, of which only small ones are read whole."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.packed_bytes = file.seek(0, os.SEEK_END)
        n_bytes = sum(member.file_size for member in self.infolist())
        most_bytes = min(MAX_UNPACKED_BYTES, FREE_BOOK_BYTES + MAX_RATIO * self.packed_bytes)
        if n_bytes > most_bytes:
            raise WorkbookError(
                f"the workbook unpacks to {n_bytes:,} bytes, and {most_bytes:,} are the most: save the sheet as CSV"
            )

    def read(self, name: str | ZipInfo, pwd: bytes | None = None) -> bytes:
        if (part := self.getinfo(name) if isinstance(name, str) else name).file_size > MAX_PART_BYTES:
            raise WorkbookError(
                f"its part {part.filename} has {part.file_size:,} bytes, and {MAX_PART_BYTES:,} are the most: "
                "save the sheet as CSV"
            )
        return super().read(name, pwd)


class Book(ExcelReader):
    """A workbook whose sheets are read row by row."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, read_only=True, data_only=True, keep_links=False)
        self.archive: Archive = Archive(file)
        self.read_manifest()
        if STRICT in self.archive.read(_find_workbook_part(self.package).PartName[1:]):
            raise WorkbookError('it is a "Strict Open XML" workbook: save it as "Excel Workbook (.xlsx)"')
        self.read_strings()
        self.read_workbook()
        apply_stylesheet(self.archive, self.wb)
        self.sheets = [
            Sheet(sheet.name, sheet.state == "visible", part.target)
            for sheet, part in self.parser.find_sheets()
            if part.target in self.valid_files and "chartsheet" not in part.Type
        ]
        book: Any = self.wb
        for place, style in enumerate(book._cell_styles):
            if style.numFmtId in DATE_FORMATS:  # formats with an entry have other numbers by now
                book._date_formats.add(place)
            if style.numFmtId in DURATION_FORMATS:
                book._timedelta_formats.add(place)
        self.days = {
            place
            for place, style in enumerate(book._cell_styles)
            if is_datetime(self.find_format(style.numFmtId)) in ("date", "datetime")
        }
        struck_fonts = {place for place, font in enumerate(book._fonts) if font.strike}
        self.struck_styles = {
            place for place, style in enumerate(book._cell_styles) if style.fontId in struck_fonts
        }

    def find_format(self, number: int) -> str:
        """Return the code of a format, or that of a plain number where none is written down."""
        book: Any = self.wb
        place = number - 164  # formats of the workbook follow those of Excel
        return book._number_formats[place] if place >= 0 else BUILTIN_FORMATS.get(number, "General")

    def read_strings(self) -> None:
        package: Any = self.package
        part = package.find(SHARED_STRINGS)
        if part is None:
            return
        most_texts = FREE_TEXTS + self.archive.packed_bytes
        with self.archive.open(part.PartName[1:]) as source:
            for node in iterate_elements(source, (TEXT_TAG,)):
                text: Any = Text.from_tree(node)
                self.shared_strings.append(text.content)
                if len(self.shared_strings) > most_texts:
                    raise WorkbookError(f"it shares more than {most_texts:,} texts: save the sheet as CSV")

    def parse(self, sheet: Sheet) -> SheetParser:
        """Return the rows of a sheet, which is closed when they end."""
        book: Any = self.wb
        return SheetParser(
            self.archive.open(sheet.path),
            self.shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
            days=self.days,
            struck_styles=self.struck_styles,
        )


class SheetParser(WorkSheetParser):
    """Reads the cells that a sheet has, and not those that it claims to have.

    Attributes:
        merged_range: The first cells that are merged, known after the last row; "" for none.
        hidden: Counts of rows and columns with a value that Excel does not show, and of cells that are struck out.
        hidden_columns: Their numbers, known before the first row.
    """

    merged_range = ""

    def __init__(
        self,
        source: Any,
        shared_strings: Any,
        *,
        days: Collection[int],
        struck_styles: Collection[int],
        **options: Any,
    ) -> None:
        """Read a sheet; `days` are the places of the styles that show a day, `struck_styles` of struck-out texts."""
        super().__init__(source, shared_strings, **options)
        self.hidden: Counter[str] = Counter()
        self._days, self._struck_styles, self.hidden_columns = days, struck_styles, set[int]()

    def parse(self) -> Generator[list[Cell], None, None]:
        source: Any = self.source
        columns: set[int] = set()  # hidden columns with a value
        has_heading = False  # whether a row with values was read, in which nothing counts as struck out
        with source:
            for element in iterate_elements(source, (COL_TAG, ROW_TAG, MERGE_TAG)):
                size = element.get("width") or element.get("ht") or "1"
                is_hidden = element.get("hidden") in ("1", "true") or not size.strip("0.")
                if element.tag == MERGE_TAG:
                    self.merged_range = self.merged_range or element.get("ref", "")
                elif element.tag == COL_TAG:
                    last = min(int(element.get("max")), MAX_COLUMNS)
                    self.hidden_columns |= (
                        set(range(int(element.get("min")), last + 1)) if is_hidden else set()
                    )
                else:
                    cells = self.parse_row(element)[1]
                    self.row_dimensions.clear()
                    values = {cell["column"] for cell in cells if cell["value"] is not None}
                    if is_hidden:
                        self.hidden["hidden_row"] += bool(values)
                        continue
                    columns |= values & self.hidden_columns
                    cells = [cell for cell in cells if cell["column"] not in self.hidden_columns]
                    self._leave_out_struck(cells if has_heading else [])
                    has_heading |= bool(values)
                    yield cells
        self.hidden["hidden_column"] = len(columns)

    def _leave_out_struck(self, cells: list[Cell]) -> None:
        for cell in cells:
            if cell["style_id"] in self._struck_styles and (
                cell["value"] is not None or cell["is_uncalculated"]
            ):
                self.hidden["struck_out"] += 1
                cell |= {"value": "", "is_uncalculated": False}

    def parse_cell(self, element: Any) -> Cell:
        cell: Cell = super().parse_cell(element)
        is_duration = cell["style_id"] in self.timedelta_formats
        if cell["data_type"] == "d" and element.get("t", "n") == "n" and not is_duration:
            number, is_day = float(element.findtext(VALUE_TAG)), cell["style_id"] in self._days
            is_windows = self.epoch == WINDOWS_EPOCH
            if number < 0 or (is_windows and ((is_day and number < 1) or int(number) == NO_DAY)):
                cell["value"] = NO_DATE
        cell["is_uncalculated"] = cell["value"] is None and element.find(FORMULA_TAG) is not None
        return cell


def iterate_elements(source: Any, tags: Collection[str]) -> Iterator[Any]:
    """Yield the elements with one of the tags; all others, and those that were yielded, are dropped.

    Raises:
        WorkbookError: One of them has too many elements inside, or they are nested too deeply.
    """
    path: list[Any] = []  # open elements around those that are yielded
    n_held = depth = 0  # elements in memory, and open ones from the outermost that is yielded
    element: Any
    for event, element in iterparse(source, ("start", "end")):
        if event == "start":
            n_held += 1
            if n_held > MAX_ELEMENTS:
                raise WorkbookError(f"a row of it has more than {MAX_ELEMENTS:,} elements: save it as CSV")
            if depth or element.tag in tags:
                depth += 1
            else:
                path.append(element)
        elif depth > 1:
            depth -= 1
        else:
            if depth:
                depth = 0
                yield element
            else:
                path.pop()
            n_held = len(path)
            if path:
                path[-1].remove(element)
