"""Text of documents of several formats, read in a process of its own."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from tempfile import TemporaryFile
from typing import BinaryIO

import pytest
from errata.tables.workbook import WorkbookError
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from service.extraction import process
from service.extraction.__main__ import READERS, read_html, read_pdf
from service.extraction.process import Extractor, FileText, Unreadable, read_rows
from tests.workbooks import replace_part, workbook

FONT = DictionaryObject(
    {
        NameObject("/Type"): NameObject("/Font"),
        NameObject("/Subtype"): NameObject("/Type1"),
        NameObject("/BaseFont"): NameObject("/Helvetica"),
    }
)


def write_pdf(*pages: str, title: str = "", password: str = "", owner: str = "") -> bytes:
    """Write a PDF with a line of text on each page.

    Args:
        pages: The lines; "" is a page without text.
        title: Title in the metadata.
        password: Password that opens it.
        owner: Password of the owner, without which anybody may open it.
    """
    writer = PdfWriter()
    for line in pages:
        page = writer.add_blank_page(300, 200)
        if line:
            content = DecodedStreamObject()
            content.set_data(f"BT /F1 12 Tf 20 100 Td ({line}) Tj ET".encode())
            fonts = DictionaryObject({NameObject("/F1"): FONT})
            page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
            page[NameObject("/Contents")] = writer._add_object(content)
    if title:
        writer.add_metadata({"/Title": title})
    if password or owner:
        writer.encrypt(password, owner or None, algorithm="AES-256")
    buffer = BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def write_bomb(n_bytes: int) -> bytes:
    """Write a PDF of a page whose text unpacks into so many bytes."""
    writer = PdfWriter()
    page = writer.add_blank_page(300, 200)
    content = DecodedStreamObject()
    content.set_data(b"BT /F1 12 Tf " + b"(x) Tj " * (n_bytes // 7) + b"ET")
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): FONT})}
    )
    page[NameObject("/Contents")] = writer._add_object(content.flate_encode())
    buffer = BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


PAGE = """<!doctype html><html><head><title> The  mill </title><style>p { color: red }</style></head>
<body><script>alert("no")</script><h1>The mill</h1><p>Built in <b>1820</b> by Ada&nbsp;Byrne.</p>
<table><tr><td>Wheels</td><td>two</td></tr><tr><td>Height</td><td>12 m</td></tr></table></body></html>"""


def test_a_page_is_read_as_it_is_shown() -> None:
    page = read_html(PAGE.encode())
    assert page.title == "The mill"
    assert "Built in 1820 by Ada Byrne." in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert [line.split() for line in page.text.splitlines()][-2:] == [
        ["Wheels", "two"],
        ["Height", "12", "m"],
    ]
    assert "alert" not in page.text
    assert "color" not in page.text


def test_pages_of_a_pdf_are_paragraphs() -> None:
    data = write_pdf("The mill was built in 1820.", "It burnt down.", title="The mill")
    assert read_pdf(data) == FileText("The mill was built in 1820.\n\nIt burnt down.", "The mill")


@pytest.mark.parametrize(
    ("media_type", "data", "words"),
    [
        ("application/pdf", write_pdf("x", password="secret"), "encrypted: save it without its password"),
        ("application/pdf", write_pdf("", ""), "has no text, as when its pages are pictures"),
        ("application/pdf", b"%PDF-1.7\nnothing", "is damaged"),
        ("application/pdf", b"PK\x03\x04", "is damaged"),
        ("application/pdf", write_pdf("The mill")[:400], "is damaged"),
        ("text/html", b"", "no HTML that can be read"),
        ("text/html", b"<html><body><script>1</script></body></html>", "shows no text"),
    ],
)
def test_a_file_without_text_is_refused(media_type: str, data: bytes, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        READERS[media_type](data)


async def test_text_and_title_come_from_the_process() -> None:
    data = write_pdf("The mill was built in 1820.", title="The mill")
    assert await Extractor().extract("application/pdf", data) == FileText(
        "The mill was built in 1820.", "The mill"
    )


async def test_what_is_wrong_with_a_file_is_told() -> None:
    with pytest.raises(Unreadable, match="encrypted"):
        await Extractor().extract("application/pdf", write_pdf("x", password="secret"))


async def test_a_file_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_SECONDS", 1)
    start = time.monotonic()
    with pytest.raises(Unreadable, match="more than 1 s"):
        await Extractor().extract("application/pdf", write_bomb(60_000_000))
    assert time.monotonic() - start < 20


async def test_files_are_read_a_few_at_a_time() -> None:
    extractor = Extractor()
    pages = [f"<body>page {number}</body>".encode() for number in range(4)]
    texts = await asyncio.gather(*(extractor.extract("text/html", page) for page in pages))
    assert [file.text for file in texts] == [f"page {number}" for number in range(4)]


@contextmanager
def keep(content: bytes) -> Iterator[BinaryIO]:
    with TemporaryFile() as file:
        file.write(content)
        yield file


def test_a_workbook_is_read_in_a_process_of_its_own_which_ends() -> None:
    content = workbook([["a", "b"], [], ["1"]])
    with keep(content) as file:
        assert list(read_rows(file, "", 30)) == [(1, ["a", "b"]), (3, ["1"])]
    with keep(content) as file, pytest.raises(WorkbookError, match=r"no sheet '-m\\x00': it has 'Sheet1'"):
        list(read_rows(file, "-m\0", 30))
    long = replace_part(
        content, "xl/worksheets/sheet1.xml", b"</sheetData>", b"<row/>" * 400_000 + b"</sheetData>"
    )
    with keep(long) as file:
        rows = read_rows(file, "Sheet1", 1)
        with pytest.raises(
            WorkbookError, match=r"takes more than 1 s or 1.5 GB of memory: save the sheet as CSV"
        ):
            list(rows)
