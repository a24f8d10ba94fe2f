"""Text is read from pages and PDFs; a file without text is refused in words."""

import pytest

from service.extraction.__main__ import READERS, read_html, read_pdf
from service.extraction.process import FileText, Unreadable
from tests.service.extraction.pdfs import write_pdf

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
