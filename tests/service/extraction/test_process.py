"""Each file is read by a process of its own, which ends when it takes too much."""

import asyncio
import time

import pytest

from service.extraction import process
from service.extraction.process import Extractor, FileText, Unreadable
from tests.service.extraction.pdfs import write_bomb, write_pdf


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
