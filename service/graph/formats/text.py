"""What a name, a relation or a text of a file may look like; every format cleans its texts here.

The graph finds names by their letters, so one name must have one spelling: NFC, and single spaces.
"""

from __future__ import annotations

import re
from unicodedata import normalize

from service.graph.formats.row import Line, LongLine, Refused

MAX_TEXT_CHARS = 2_000
MAX_RELATION_CHARS = 200
ANY_LANGUAGE = "mul"  # a language tag: the same in all languages
RESERVED = "@"  # begins what the graph says of names and of relations themselves
SHOWN_CHARS = 120

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")  # U+0085 is a line's end, and so a space
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_UNSEEN = re.compile(r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
                     r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]*")  # fmt: skip
_LONGEST_COMPOSED = (
    4  # characters that NFC makes one of, at most: longer texts need not be composed to be too long
)


def clean(field: str, raw: str, most: int = MAX_TEXT_CHARS) -> str:
    """The text in its one spelling. Refused names the field. most: characters."""
    text = " ".join(raw.split())
    if not raw.isprintable():
        _check_unprintable(field, raw)
    if not text.isascii():
        text = _composed(text, most)
    if not text:
        raise Refused(f"the {field} is empty", "empty")
    if len(text) > most:
        raise Refused(f"the {field} is longer than {most:,} characters", "too_long")
    return text


def clean_relation(raw: str) -> str:
    return unreserved("relation", clean("relation", raw, MAX_RELATION_CHARS))


def clean_id(field: str, raw: str) -> str:
    return unreserved(field, clean(field, raw))


def unreserved(field: str, text: str) -> str:
    if text.startswith(RESERVED):
        raise Refused(f"the {field} begins with {RESERVED}, which the graph keeps for itself", "reserved")
    return text


def decoded(line: bytes | LongLine) -> str:
    """A line as text, without the carriage return of a line end."""
    if isinstance(line, LongLine):
        raise Refused("the line is too long to be read", "too_long")
    try:
        return line.decode().removesuffix("\r")
    except UnicodeDecodeError as cause:
        raise not_utf8(cause) from cause


def not_utf8(cause: UnicodeDecodeError) -> Refused:
    return Refused(f"not UTF-8 ({cause.reason} at byte {cause.start})", "encoding")


def no_control(raw: str) -> None:
    found = _CONTROL.search(raw)
    if found:
        raise Refused(f"the control character U+{ord(found[0]):04X} at character {found.start()}", "control")


def shown(raw: str) -> str:
    """As much of a text as fits a sentence, without what would spoil a terminal or a log."""
    cut = raw if len(raw) <= SHOWN_CHARS else raw[: SHOWN_CHARS - 1] + "…"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in cut)


def fitting(line: Line, most_bytes: int) -> Line:
    number, content = line
    if isinstance(content, LongLine) or len(content) <= most_bytes:
        return line
    return number, LongLine(content.count(b'"'))


def _check_unprintable(field: str, raw: str) -> None:
    found = _CONTROL.search(raw.replace("\r\n", "\n"))
    if found:
        raise Refused(f"the {field} has the control character U+{ord(found[0]):04X}", "control")
    if _SURROGATE.search(raw):
        raise Refused(f"the {field} has half a character (a lone surrogate)", "encoding")


def _composed(text: str, most: int) -> str:
    """Composing is slow for a long run of marks, so what must be too long anyway is left as it is."""
    if len(text) > most * _LONGEST_COMPOSED:
        return text
    return "" if _UNSEEN.fullmatch(text) else normalize("NFC", text)
