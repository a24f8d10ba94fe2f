"""The text of an HTML page as a browser shows it."""

from __future__ import annotations

import re

import lxml.html
import webencodings
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.html_engine import Inscriptis
from inscriptis.html_properties import Display
from inscriptis.model.config import ParserConfig
from inscriptis.model.html_element import HtmlElement
from lxml.etree import LxmlError

from service.extraction.process import FileText, Unreadable
from service.extraction.text import SUBSCRIPTS, SUPERSCRIPTS, finish, set_small

# Where a page declares its encoding: the HTML standard, 13.2.3.2, looks at 1,024 bytes
DECLARATION = re.compile(
    rb"""<(?:meta\s[^>]*?charset|\?xml\s[^>]*?encoding)\s*=\s*["']?\s*([^\s"'/>;]+)""", re.I
)
DECLARED_WITHIN = 1024
COMMENT = re.compile(rb"<!--(?:-?>|.*?(?:-->|\Z))", re.DOTALL)  # a declaration inside declares nothing
# Ends after which a browser still shows what comes, and the parser does not read on
ENDS = re.compile(r"</(?:body|html)\s*>", re.I)
LONE_CP932 = re.compile("[\uf8f0-\uf8f3]")  # what Python's cp932 reads in bytes that Shift_JIS does not have
# What a browser with scripts does not show, what an editor has struck out, and links from a figure to a note
NOT_SHOWN = """
    //template | //noscript | //dialog[not(@open)] | //del | //s | //strike | //datalist
    | //*[@hidden] | //*[contains(@style, 'line-through')] | //input
    | //sup[.//a[contains(@href, '#') or @role='doc-noteref']]
    | //a[@role='doc-noteref' or @*[name()='epub:type']='noteref' or contains(@class, 'footnote-ref')]
"""
SMALL_TEXT = """
    //{0} | //*[contains(translate(@style, ' ', ''), 'vertical-align:{1}')]
"""
LINES = ".//p | .//div | .//td | .//th | .//tr | .//li | .//br"  # parts that no figure has
# Elements that begin a line, beside those that inscriptis knows
BLOCKS = (
    "dd",
    "details",
    "dl",
    "dt",
    "fieldset",
    "form",
    "label",
    "legend",
    "optgroup",
    "option",
    "section",
    "summary",
)
STYLES = CSS_PROFILES["strict"] | {tag: HtmlElement(display=Display.block) for tag in BLOCKS}


def read_html(data: bytes, charset: str = "") -> FileText:
    """Return the visible text of a page as it is laid out, its tables included.

    Bytes that its encoding does not have become U+FFFD each.

    Args:
        data: The page.
        charset: The encoding that came with it, such as in a content type; "" looks for the page's own declaration.

    Raises:
        Unreadable: The page cannot be parsed, or shows no text.
    """
    try:
        source = ENDS.sub("", decode(data, charset)).encode()
        page = lxml.html.document_fromstring(source, lxml.html.HTMLParser(encoding="utf-8"))
        title = page.findtext(".//title") or ""
        _keep_what_is_shown(page)
        text = Inscriptis(page, ParserConfig(css=STYLES)).get_text()
    except (LxmlError, ValueError, RecursionError) as error:
        raise Unreadable(f"this is no HTML that can be read ({error}): send its text instead") from error
    return finish(text, title, "the page shows no text: save what a browser shows")


def decode(data: bytes, charset: str = "") -> str:
    """Return the text of a page by the encoding that its label means to a browser (https://encoding.spec.whatwg.org).

    A byte order mark counts first, then `charset`, then the page's declaration, then UTF-8 if it is that.
    """
    declaration = DECLARATION.search(COMMENT.sub(b"", data[:DECLARED_WITHIN]))
    label = charset or (declaration[1].decode("ascii", "replace") if declaration else "")
    encoding = webencodings.lookup(label)
    if encoding is None or encoding.name == "windows-1252":
        encoding = webencodings.lookup("utf-8" if _is_utf8(data) else "windows-1252")
    elif encoding.name.startswith("utf-16") and not charset:
        encoding = webencodings.UTF8  # a declaration that can be read is not in UTF-16
    text: str = webencodings.decode(data, encoding)[0]
    return LONE_CP932.sub("\N{REPLACEMENT CHARACTER}", text) if encoding.name == "shift_jis" else text


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _keep_what_is_shown(page: lxml.html.HtmlElement) -> None:
    """Remove what the page does not show, and replace raised and lowered figures by superscripts and subscripts."""
    for element in page.xpath(NOT_SHOWN):
        if element.getparent() is not None:
            element.drop_tree()
    for tag, style, table in (("sup", "super", SUPERSCRIPTS), ("sub", "sub", SUBSCRIPTS)):
        for element in page.xpath(SMALL_TEXT.format(tag, style)):
            text = element.text_content()
            small = text if element.xpath(LINES) else set_small(text, table)
            if small != text:
                del element[:]
                element.text = small
            elif tag == "sup" and any(map(str.isdecimal, text)):
                element.text = f" {element.text or ''}"
