"""PDFs that tests write."""

from __future__ import annotations

from io import BytesIO

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

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
    return write_content(b"BT /F1 12 Tf " + b"(x) Tj " * (n_bytes // 7) + b"ET")


def write_content(operators: bytes) -> bytes:
    """Write a PDF of a page with these operators, in which /F1 is Helvetica."""
    writer = PdfWriter()
    page = writer.add_blank_page(300, 200)
    content = DecodedStreamObject()
    content.set_data(operators)
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): FONT})}
    )
    page[NameObject("/Contents")] = writer._add_object(content.flate_encode())
    buffer = BytesIO()
    writer.write(buffer)
    return buffer.getvalue()
