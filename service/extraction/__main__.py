"""`python -m service.extraction TYPE`: read a file from standard input, and write its text as JSON.

This process is bounded, because a hostile file can unpack into gigabytes or take hours.
"""

# `from __future__ import annotations` is left out: FastAPI cannot resolve the annotations of a callable object.
import json
import re
import sys
from collections.abc import Callable, Mapping
from io import BytesIO

import lxml.html
from errata.tables.limits import MAX_SECONDS
from inscriptis.html_engine import Inscriptis
from lxml.etree import LxmlError
from pypdf import PasswordType, PdfReader
from pypdf.errors import PyPdfError

from service.extraction.process import FileText, Unreadable, bound_process

MAX_PAGES = 5_000  # pages of a PDF
NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")  # characters that no text has
BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def read_html(data: bytes) -> FileText:
    """Return the visible text of a page as it is laid out, its tables included.

    Raises:
        Unreadable: The page cannot be parsed, or shows no text.
    """
    try:
        page = lxml.html.document_fromstring(data, lxml.html.HTMLParser(encoding=_find_encoding(data)))
        text = Inscriptis(page).get_text()
    except (LxmlError, ValueError, RecursionError) as error:
        raise Unreadable(f"this is no HTML that can be read ({error}): send its text instead") from error
    return _finish(text, page.findtext(".//title") or "", "the page shows no text: save what a browser shows")


def read_pdf(data: bytes) -> FileText:
    """Return the text of a PDF, page by page.

    Raises:
        Unreadable: The PDF is encrypted, damaged, too long or made of pictures.
    """
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise Unreadable("the PDF is encrypted: save it without its password")
        if len(reader.pages) > MAX_PAGES:
            raise Unreadable(f"the PDF has {len(reader.pages):,} pages; {MAX_PAGES:,} is the most: split it")
        text = "\n\n".join(page.extract_text() for page in reader.pages)
        title = reader.metadata.title if reader.metadata else None
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        detail = f"the PDF is damaged ({type(error).__name__}: {error})"
        raise Unreadable(f"{detail}: save it again, or send its text") from error
    return _finish(
        text,
        title or "",
        "the PDF has no text, as when its pages are pictures: run text recognition on it first",
    )


# Media type -> the function that reads a file of it
READERS: Mapping[str, Callable[[bytes], FileText]] = {
    "text/html": read_html,
    "application/xhtml+xml": read_html,
    "application/pdf": read_pdf,
}


def _find_encoding(data: bytes) -> str | None:
    """Return "utf-8" if the bytes are UTF-8; None lets the parser read the page's declaration, by default Latin-1."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _finish(text: str, title: str, advice: str) -> FileText:
    lines = "\n".join(line.rstrip() for line in NO_TEXT.sub(" ", text).split("\n"))
    text = BLANK_LINES.sub("\n\n", lines).strip()
    if not text:
        raise Unreadable(advice)
    return FileText(text, " ".join(NO_TEXT.sub(" ", title).split()))


def main() -> None:
    bound_process(MAX_SECONDS)
    try:
        reply = READERS[sys.argv[1]](sys.stdin.buffer.read())._asdict()
    except Unreadable as error:
        reply = {"error": str(error)}
    sys.stdout.write(json.dumps(reply))


if __name__ == "__main__":
    main()
