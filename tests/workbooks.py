"""Makes Excel workbooks for tests."""

import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any

from openpyxl import Workbook


def workbook(
    sheets: Mapping[str, Iterable[Sequence[Any]]] | Iterable[Sequence[Any]], merge: str = ""
) -> bytes:
    """Return a workbook of sheets with these rows; `merge` are cells of each that are merged."""
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, rows in (sheets if isinstance(sheets, Mapping) else {"Sheet1": sheets}).items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
        if merge:
            sheet.merge_cells(merge)
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def replace_part(content: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """Return a workbook with other bytes in one of its parts, as another program would write it."""
    file = BytesIO()
    with (
        zipfile.ZipFile(BytesIO(content)) as source,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for member in source.namelist():
            part = source.read(member)
            target.writestr(member, part.replace(old, new) if member == name else part)
    return file.getvalue()


def share_texts(content: bytes) -> bytes:
    """Return a workbook whose texts stand in a part of their own, as Excel writes it."""
    file, texts = BytesIO(), []

    def share(cell: re.Match[bytes]) -> bytes:
        texts.append(b"<si>%s</si>" % cell[1])
        return b't="s"><v>%d</v>' % (len(texts) - 1)

    name, main = "xl/sharedStrings.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml."
    part = f'<Override PartName="/{name}" ContentType="{main}sharedStrings+xml"/></Types>'.encode()
    with zipfile.ZipFile(BytesIO(content)) as source, zipfile.ZipFile(file, "w") as target:
        for member in source.namelist():
            data = re.sub(rb't="inlineStr"><is>(.*?)</is>', share, source.read(member), flags=re.DOTALL)
            target.writestr(member, data.replace(b"</Types>", part))
        target.writestr(
            name,
            b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">%s</sst>'
            % b"".join(texts),
        )
    return file.getvalue()
