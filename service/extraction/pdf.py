"""The text of a PDF as it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import BytesIO
from math import hypot
from typing import Any

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.errors import PyPdfError

from service.extraction.process import FileText, Unreadable
from service.extraction.text import SUBSCRIPTS, SUPERSCRIPTS, finish, set_small

MAX_PAGES = 5_000
SMALLER = 0.9  # largest size of a raised or lowered figure, as a share of the size of the text before
WITHIN_LINE = 0.8  # largest distance of such a figure from its line, as a share of that size
# A word that a line divides, by a hyphen of any kind
HYPHENS = re.compile(r"(?P<start>[^\W\d_]+)(?P<hyphen>[-\u00ad\u2010])[ \t]*\n[ \t]*(?P<end>[^\W\d_]+)")
SHOWS_TEXT = {b"Tj", b"TJ", b"'", b'"'}  # operators
UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def read_pdf(data: bytes) -> FileText:
    """Return the text of a PDF, page by page.

    Raises:
        Unreadable: The PDF is encrypted, damaged, too long, packed in an unknown way, or made of pictures, or its
            fonts do not say which characters they show.
    """
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise Unreadable("the PDF is encrypted: save it without its password")
        if len(reader.pages) > MAX_PAGES:
            raise Unreadable(f"the PDF has {len(reader.pages):,} pages; {MAX_PAGES:,} is the most: split it")
        text = "\n\n".join(_read_page(page) for page in reader.pages)
        title = reader.metadata.title if reader.metadata else None
    except NotImplementedError as error:
        raise Unreadable(
            f"the PDF is packed in a way that is not read here ({error}): print it to a new PDF"
        ) from error
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        detail = f"the PDF is damaged ({type(error).__name__}: {error})"
        raise Unreadable(f"{detail}: save it again, or send its text") from error
    if text.count(UNKNOWN) * 2 > len("".join(text.split())):
        raise Unreadable(
            "the PDF's fonts do not say which characters they show: run text recognition on it first"
        )
    advice = "the PDF has no text, as when its pages are pictures: run text recognition on it first"
    return finish(join_divided(text), title or "", advice)


def join_divided(text: str) -> str:
    """Join the words that the end of a line divides; one that stands with its hyphen elsewhere keeps it."""

    def join(match: re.Match[str]) -> str:
        start, hyphen, end = match["start"], match["hyphen"], match["end"]
        compound = f"{start}-{end}"
        is_compound = hyphen != "\u00ad" and (not end[0].islower() or compound in text)
        return compound if is_compound else start + end

    return HYPHENS.sub(join, text)


@dataclass
class _Line:
    """The text of a page, of which raised and lowered figures are kept apart from those before them."""

    parts: list[str] = field(default_factory=list)
    size: float = 0.0  # size of the text that is not raised
    base: float = 0.0  # height of its line on the page
    rise: float = 0.0  # what the operator Ts says (ISO 32000-1, 9.3.7)
    shown_rise: float = 0.0  # that of the text that was shown last

    def see(self, operator: bytes, operands: list[Any], *_: Any) -> None:
        """Take an operator of the page before it is carried out."""
        if operator == b"Ts" and operands:
            self.rise = float(operands[0])
        elif operator in SHOWS_TEXT:
            self.shown_rise = self.rise

    def add(self, text: str, matrix: list[float], text_matrix: list[float], font: Any, size: float) -> None:
        """Take the next piece of text, with the line end after it."""
        if not text:
            return
        # Some writers set the size of a font by the matrix alone, whose second row is its height
        scale = hypot(*text_matrix[2:4]) * hypot(*matrix[2:4])
        size, height = size * scale, text_matrix[5] * matrix[3] + matrix[5]
        shift = self.shown_rise * scale or height - self.base
        is_small = 0 < size <= SMALLER * self.size and 0 < abs(shift) <= WITHIN_LINE * self.size
        small = set_small(text, SUPERSCRIPTS if shift > 0 else SUBSCRIPTS) if is_small else text
        if small != text:
            if self.parts:
                self.parts[-1] = self.parts[-1].removesuffix("\n")
            self.parts.append(small.strip())
            return
        if text.strip():
            self.size, self.base = size, height
        self.parts.append(text)


def _read_page(page: PageObject) -> str:
    line = _Line()
    page.extract_text(visitor_text=line.add, visitor_operand_before=line.see)
    return "".join(line.parts)
