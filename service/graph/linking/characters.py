"""Classes of characters: those that join the one before them, and scripts without spaces between words.

They are written for `re`, which is faster than `regex` but knows no Unicode properties.
"""

from __future__ import annotations

import regex

# Planes 0 to 3, and the marks of plane 14: no other character joins or belongs to a script.
_CHARACTERS = "".join(map(chr, (*range(0x40000), *range(0xE0100, 0xE01F0))))
# Soft hyphen, directions, word joiner, byte-order mark, emoji or text style. NUL separates names.
INVISIBLE = r"\0\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff"


def to_class(pattern: str) -> str:
    """Return the inside of `[...]` for `re`, from a pattern of one character in the syntax of `regex`."""
    runs = (match[0] for match in regex.finditer(f"(?:{pattern})+", _CHARACTERS))
    return "".join(f"\\U{ord(run[0]):08x}-\\U{ord(run[-1]):08x}" for run in runs)


# Marks; zero-width (non-)joiners; vowel signs that Unicode files under letters; half-width voicing marks; the vowels
# and finals of Hangul written in pieces.
JOINS = to_class(
    rf"(?![{INVISIBLE}])[\p{{M}}\p{{Grapheme_Extend}}\p{{GCB=SpacingMark}}\p{{GCB=V}}\p{{GCB=T}}\u200d]"
)
# Scripts whose words follow each other without spaces, except their digits: a number is a word in every script.
NO_SPACES = to_class(
    r"(?!\p{Nd})[\p{Line_Break=SA}\p{Ideographic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}"
    r"\p{Script=Yi}\p{Script=Javanese}\p{Script=Balinese}\p{Script=Tai_Viet}\p{Script=Tangut}\p{Script=Nushu}"
    r"\p{Script=Khitan_Small_Script}\u3031-\u3035\u303c\u30fc\ua9cf\uff70]"
)
HANGUL = to_class(rf"[^\P{{Script=Hangul}}\W{JOINS}]")
