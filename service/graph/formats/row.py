"""The rules for names, relations and texts of a file; every format cleans its texts here.

The graph finds names by their letters, so one name must have one spelling: NFC, and single spaces.

The base of the formats' readers.

The output of a reader (rows, rejected lines, the error that ends a file) and its input (lines).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias
from unicodedata import normalize

from errata.tables.workbook import format_number

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


class Reader:
    """One format. It gets each line once, in order, empty ones included, and then `end`.

    Attributes:
        max_line_bytes: Size of the longest line that is held whole.
        skipped: Counts of well-formed statements that are not used, by reason.
        languages: Languages of the texts that are used, the preferred one first.
        scope: Document to which blank nodes belong (RDF 1.1, 3.4), in its name for them.
        relations: Ids that are relations, with their names, as the file uses or describes them.
        aside: Ids whose statements are left out, with the reason.
    """

    max_line_bytes = 1_000_000

    def __init__(self, language: str) -> None:
        self.skipped: Counter[str] = Counter()
        self.scope = ""
        self.relations: dict[str, str] = {}
        self.aside: dict[str, str] = {}
        self.languages = tuple(dict.fromkeys((language.casefold(), ANY_LANGUAGE)))

    def is_near(self, tag: str) -> bool:
        """Return whether a tag is of the wanted language in a region or script: en-GB and en, zh-Hant and zh."""
        return tag.casefold().partition("-")[0] == self.languages[0].partition("-")[0]

    def read(self, lines: Iterable[Line]) -> Iterator[Result]:
        for number, line in lines:
            try:
                yield from self.read_line(decode(line), number)
            except Skipped as skipped:
                self.skipped[skipped.why] += 1
            except Refused as refused:
                yield refused.at(number)

    def read_line(self, text: str, number: int) -> Iterator[Result]:
        raise NotImplementedError

    def end(self) -> Iterator[Result]:
        return iter(())


Kind = Literal["fact", "label", "alias", "description", "relation_label"]
Code = Literal["columns", "control", "empty", "encoding", "reserved", "syntax", "too_long"]


class Row(NamedTuple):
    kind: Kind  # kind of the statement
    subject: str  # an id if `by_id`, otherwise the name as written, which the graph has to resolve
    relation: str  # relation of a fact; "" for other kinds
    object: str  # text of the object; "" for an entity that is known by its id only
    object_id: str  # "" for a literal or an object that is written by name
    line: int  # number of its line
    by_id: bool  # whether the subject is written by id
    # Further lines of a table's cell, each a value unless the relation holds one
    further: tuple[str, ...] = ()
    # Whether the text has the tag of a region or script, so that it yields to one in the language asked for
    is_near: bool = False
    qualifiers: tuple[str, ...] = ()  # begin, end, point in time, unit and rank of a fact that has some


class Rejection(NamedTuple):
    """A line, or one value on a Wikidata line, that is not used; programs branch on its `code`."""

    line: int
    reason: str
    code: Code


Result: TypeAlias = Row | Rejection


class GraphFileError(ValueError):
    """The whole file cannot be read; the caller should drop the rows before the error."""


class Refused(Exception):
    """A text or a line is rejected, and reading continues after it. Only this package raises and catches it."""

    def __init__(self, reason: str, code: Code) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code: Code = code

    def at(self, line: int) -> Rejection:
        return Rejection(line, self.reason, self.code)


class Skipped(Exception):
    """A well-formed statement is not used, and counted as `why`. Only this package raises and catches it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class LongLine(NamedTuple):
    """A placeholder for a line that is too long to hold, with the number of its `"`, for readers that pair them."""

    quotes: int


Line: TypeAlias = tuple[int, bytes | LongLine]  # number, counted from 1, and content without its line feed

LINE_BYTES = 64  # approximate memory of a line beyond its content
