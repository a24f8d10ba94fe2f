"""Which characters join the one before them, and which scripts put no spaces between their words.

Written as the insides of regular-expression classes: this Python's own Unicode tables where those say it (marks, what
composes), Unicode's script blocks where they do not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

CodeRange = tuple[int, int]

# Blocks of scripts whose words follow each other without spaces. Their decimal digits are left out: a number is a
# word in every script.
NO_SPACES_BLOCKS: tuple[CodeRange, ...] = (
    (0x0E01, 0x0E4E),  # Thai
    (0x0E81, 0x0ECE),  # Lao
    (0x0EDC, 0x0EDF),
    (0x1000, 0x103F),  # Myanmar
    (0x104A, 0x108F),
    (0x109A, 0x109D),
    (0x1780, 0x17DD),  # Khmer
    (0x1950, 0x19C9),  # Tai Le, New Tai Lue
    (0x1A20, 0x1A7F),  # Tai Tham
    (0x1B05, 0x1B4C),  # Balinese
    (0x2E80, 0x2FDF),  # Han: radicals
    (0x3005, 0x3007),
    (0x3021, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0xA4CF),  # Han, Yi
    (0xA980, 0xA9CF),  # Javanese
    (0xA9E0, 0xA9EF),
    (0xA9FA, 0xA9FE),
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),  # Han
    (0xFF66, 0xFF9D),  # Katakana, half width
    (0x17000, 0x18D8F),  # Tangut, Khitan
    (0x1AFF0, 0x1B2FF),  # Kana, Nushu
    (0x20000, 0x3FFFD),  # Han
)
HANGUL_BLOCKS: tuple[CodeRange, ...] = (
    (0x1100, 0x115F),
    (0x3131, 0x318E),
    (0xA960, 0xA97C),
    (0xAC00, 0xD7A3),
    (0xFFA0, 0xFFDC),
)
# Zero-width (non-)joiners; vowel signs that Unicode files under letters; half-width voicing marks; the vowels and
# finals of Hangul written in pieces; marks of the last plane.
JOINING_RANGES: tuple[CodeRange, ...] = (
    (0x200C, 0x200D),
    (0x0E33, 0x0E33),
    (0x0EB3, 0x0EB3),
    (0xFF9E, 0xFF9F),
    (0x1160, 0x11FF),
    (0xD7B0, 0xD7FB),
    (0xE0100, 0xE01EF),
)
MARKS_END = 0x20000
# Invisible: soft hyphen, directions, word joiner, byte-order mark, emoji or text style. NUL separates names.
INVISIBLE_RANGES: tuple[CodeRange, ...] = (
    (0x00, 0x00),
    (0xAD, 0xAD),
    (0x061C, 0x061C),
    (0x200E, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2060),
    (0x2066, 0x2069),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
)


def joining_codes() -> set[int]:
    """Marks, and whatever else composes with a character before it."""
    codes = {code for first, last in JOINING_RANGES for code in range(first, last + 1)}
    for code in range(0x80, MARKS_END):
        char = chr(code)
        if unicodedata.category(char)[0] == "M":
            codes.add(code)
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            codes.add(int(parts[1], 16))
    return codes - {code for first, last in INVISIBLE_RANGES for code in range(first, last + 1)}


def to_ranges(codes: Iterable[int]) -> list[CodeRange]:
    ranges: list[CodeRange] = []
    for code in sorted(codes):
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return ranges


def to_class(ranges: Iterable[CodeRange]) -> str:
    """The inside of `[...]` in a regular expression."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


INVISIBLE = to_class(INVISIBLE_RANGES)
JOINS = to_class(to_ranges(joining_codes()))
NO_SPACES = to_class(NO_SPACES_BLOCKS)
HANGUL = to_class(HANGUL_BLOCKS)
APOSTROPHES = "\u2018\u2019\u201b\u02bc\uff07"
