"""Text of documents of several formats, read in a process of its own."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import BinaryIO

import pytest
from errata.tables.workbook import WorkbookError

from service.extraction import process
from service.extraction.__main__ import READERS
from service.extraction.process import Extractor, FileText, Unreadable, read_rows
from tests.service.extraction.pdfs import write_bomb, write_pdf
from tests.workbooks import replace_part, workbook


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
        READERS[media_type](data, "")


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
