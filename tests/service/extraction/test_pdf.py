"""A PDF is read as its reader sees it: ligatures, divided words, raised figures."""

import re
from io import BytesIO

import pytest
from pypdf import PdfWriter

from service.extraction.pdf import join_divided, read_pdf
from service.extraction.process import FileText, Unreadable
from tests.service.extraction.pdfs import write_content, write_pdf


def test_pages_of_a_pdf_are_paragraphs() -> None:
    data = write_pdf("The mill was built in 1820.", "It burnt down.", title="The mill")
    assert read_pdf(data) == FileText("The mill was built in 1820.\n\nIt burnt down.", "The mill")


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("The interna-\ntional harbour of Ma-\nrianne Holt", "The international harbour of Marianne Holt"),
        ("a well-\nknown mill, well-known", "a well-known mill, well-known"),
        ("by Smith-\nJones", "by Smith-Jones"),
        ("the years 1820-\n1830", "the years 1820-\n1830"),
        ("Donau\u00ad\nSchiff", "DonauSchiff"),
        ("the mill -\nonce", "the mill -\nonce"),
    ],
)
def test_a_word_that_a_line_divides_is_joined(text: str, whole: str) -> None:
    assert join_divided(text) == whole


SUPERSCRIPT = (
    b"BT /F1 12 Tf 20 100 Td (built in 1911) Tj 5 Ts /F1 7 Tf (2) Tj 0 Ts /F1 12 Tf ( by Dahl) Tj ET"
)
SUBSCRIPT = b"BT /F1 12 Tf 20 100 Td (H) Tj /F1 7 Tf -3 Ts (2) Tj 0 Ts /F1 12 Tf (O) Tj ET"
ANOTHER_HEIGHT = (
    b"BT /F1 12 Tf 1 0 0 1 20 100 Tm (It had 14) Tj /F1 7 Tf 1 0 0 1 72 105 Tm (1) Tj "
    b"/F1 12 Tf 1 0 0 1 77 100 Tm (workers) Tj ET"
)
BY_MATRIX = (
    b"BT /F1 1 Tf 12 0 0 12 20 100 Tm (It had 14) Tj /F1 1 Tf 7 0 0 7 72 105 Tm (1) Tj "
    b"/F1 1 Tf 12 0 0 12 77 100 Tm (workers) Tj ET"
)
TWO_LINES = b"BT /F1 12 Tf 20 100 Td (Founded in) Tj /F1 7 Tf 0 -14 Td (1911) Tj ET"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (SUPERSCRIPT, "built in 1911² by Dahl"),
        (SUBSCRIPT, "H₂O"),
        (ANOTHER_HEIGHT, "It had 14¹ workers"),
        (BY_MATRIX, "It had 14¹ workers"),
        (TWO_LINES, "Founded in\n1911"),
    ],
)
def test_a_raised_figure_joins_no_figure_before_it(content: bytes, text: str) -> None:
    assert re.sub(" +", " ", read_pdf(write_content(content)).text) == text


def test_what_a_font_does_not_say_is_no_text() -> None:
    data = write_content(b"BT /F9 12 Tf 20 100 Td (abc def) Tj ET")
    with pytest.raises(Unreadable, match="fonts do not say which characters they show: run text recognition"):
        read_pdf(data)


def test_an_unknown_filter_is_named() -> None:
    writer = PdfWriter(BytesIO(write_pdf("The mill")))
    data = BytesIO()
    writer.write(data)
    packed = data.getvalue().replace(b"/Contents", b"/Contents", 1)
    packed = re.sub(rb"<<\n(/Length \d+)\n>>\nstream", rb"<<\n\1\n/Filter /FooDecode\n>>\nstream", packed)
    with pytest.raises(
        Unreadable, match=r"not read here \(Unsupported filter /FooDecode\): print it to a new PDF"
    ):
        read_pdf(packed)
