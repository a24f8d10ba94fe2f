"""The rules for names, relations and texts of a file; every format cleans its texts here.

The graph finds names by their letters, so one name must have one spelling: NFC, and single spaces.
"""

from __future__ import annotations

import re
from math import isfinite
from unicodedata import normalize

from errata.tables.cells import format_number

from service.graph.formats.row import LongLine, Refused

MAX_TEXT_CHARS = 2_000
MAX_RELATION_CHARS = 200
ANY_LANGUAGE = "mul"  # language tag of a text that is the same in all languages
RESERVED_PREFIX = "@"  # prefix of the graph's own relations, for names and for relations themselves
EXCERPT_CHARS = 120
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]"
)  # without U+0085, a line's end, and so a space
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_INVISIBLE = re.compile(r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
                        r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]*")  # fmt: skip
_MAX_COMPOSED = 4  # largest number of characters that NFC composes to one


def clean(field: str, raw: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """Return the text in its one spelling.

    Raises:
        Refused: The text is not allowed; the error names the field and the reason.
    """
    text = " ".join(raw.split())
    if not raw.isprintable():
        control = _CONTROL.search(raw.replace("\r\n", "\n"))
        if control:
            raise Refused(f"the {field} has the control character U+{ord(control[0]):04X}", "control")
        if _SURROGATE.search(raw):
            raise Refused(f"the {field} has half a character (a lone surrogate)", "encoding")
    # Composing a long run of marks is slow, so a text that stays too long is not composed.
    if not text.isascii() and len(text) <= max_chars * _MAX_COMPOSED:
        text = "" if _INVISIBLE.fullmatch(text) else normalize("NFC", text)
    if not text:
        raise Refused(f"the {field} is empty", "empty")
    if len(text) > max_chars:
        raise Refused(f"the {field} is longer than {max_chars:,} characters", "too_long")
    return text


def clean_relation(raw: str) -> str:
    return _refuse_reserved("relation", clean("relation", raw, MAX_RELATION_CHARS))


def clean_id(field: str, raw: str) -> str:
    return _refuse_reserved(field, clean(field, raw))


def _refuse_reserved(field: str, text: str) -> str:
    if text.startswith(RESERVED_PREFIX):
        raise Refused(
            f"the {field} begins with {RESERVED_PREFIX}, which the graph keeps for itself", "reserved"
        )
    return text


def decode(line: bytes | LongLine) -> str:
    if isinstance(line, LongLine):
        raise Refused("the line is too long to be read", "too_long")
    try:
        return line.decode().removesuffix("\r")
    except UnicodeDecodeError as cause:
        raise Refused(f"not UTF-8 ({cause.reason} at byte {cause.start})", "encoding") from cause


def refuse_control(raw: str) -> None:
    control = _CONTROL.search(raw)
    if control:
        raise Refused(
            f"the control character U+{ord(control[0]):04X} at character {control.start()}", "control"
        )


def plain_number(text: str, is_double: bool = False) -> str:
    """Return a number without an exponent or a plus; a double with the 15 digits that all of its kind hold."""
    try:
        if is_double or "e" in text.casefold():
            number = float(text)
            return format_number(number) if isfinite(number) else text
    except ValueError:
        pass
    return text.removeprefix("+")


def excerpt(raw: str) -> str:
    """Shorten a text for a message, without characters that would spoil a terminal or a log."""
    start = raw if len(raw) <= EXCERPT_CHARS else raw[: EXCERPT_CHARS - 1] + "…"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in start)
