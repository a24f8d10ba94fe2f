"""The boundaries of words in a folded text, at which a name may begin and end.

Letters and digits make words; a mark belongs to the character before it. Scripts without spaces have a boundary on
both sides of each character, Hangul on the right side only, since particles attach there. Any other character is
bounded on both sides, so that "C++" and ".pe" are names, too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from service.graph.linking.characters import HANGUL, JOINS, NO_SPACES
from service.graph.linking.folding import fold

MAX_LINKED_CHARS = 300  # characters of a name that is searched for inside texts; Wikidata allows a label 250

# Numbers of the groups below; a character in no group is bounded on both sides. A stray mark follows no character.
_WORD, _SYLLABLE, _STRAY = 1, 2, 3
_WORD_KINDS = (_WORD, _SYLLABLE)
_ASCII_WORD = re.compile("[a-z0-9]+")
_ASCII = re.compile(r"([a-z0-9]+)|[^a-z0-9 ]")
_ANY = re.compile(
    f"((?:[^\\W_{NO_SPACES}{HANGUL}{JOINS}][{JOINS}]*)+)|([{HANGUL}][{JOINS}]*)|([{JOINS}]+)|[^ {JOINS}][{JOINS}]*"
)
_ONE_LETTER = re.compile(f"[^\\W\\d_][{JOINS}]*")
_STRAY_MARK = re.compile(f"[{JOINS}]")


class Words(NamedTuple):
    """The stretches of a folded text between boundaries, without spaces."""

    starts: list[int]  # place at which each stretch begins
    ends: list[int]  # place at which it ends
    # End of the head by which names that begin here are looked up: one word, or two stretches that are no
    # words
    heads: list[int]
    opens: list[bool]  # whether a name may begin here


def split(text: str) -> Words:
    starts: list[int] = []
    ends: list[int] = []
    kinds: list[int] = []
    opens: list[bool] = []
    if text.isascii():
        for match in _ASCII.finditer(text):
            start, end = match.span()
            starts.append(start)
            ends.append(end)
            kinds.append(match.lastindex or 0)
        opens = [True] * len(starts)
    else:
        before, kind_before = -1, 0
        for match in _ANY.finditer(text):
            start, end = match.span()
            kind = match.lastindex or 0
            starts.append(start)
            ends.append(end)
            kinds.append(kind)
            is_attached = kind in _WORD_KINDS and kind_before in _WORD_KINDS and start == before
            opens.append(kind != _STRAY and not is_attached)
            before, kind_before = end, kind
    following = [*ends[1:], *ends[-1:]]
    heads = [end if kind == _WORD else two for end, two, kind in zip(ends, following, kinds, strict=True)]
    return Words(starts, ends, heads, opens)


def head(name: str) -> str:
    """Return the head by which a folded name is looked up."""
    first = _ASCII_WORD.match(name) if name.isascii() else None
    return first[0] if first else name[: split(name).heads[0]]


def word_starts(name: str) -> list[int]:
    if name.isascii():
        return [match.start() for match in _ASCII.finditer(name)]
    words = split(name)
    return [start for start, opens in zip(words.starts, words.opens, strict=True) if opens]


def unlinkable(name: str) -> str | None:
    """Return why a name is never found inside a sentence, or None if it can be. It may still be looked up."""
    return unlinkable_key(fold(name))


def unlinkable_key(key: str) -> str | None:
    if not key:
        return "it is empty"
    if len(key) > MAX_LINKED_CHARS:
        return f"it is longer than {MAX_LINKED_CHARS} characters"
    if _STRAY_MARK.match(key):
        return "it begins with a mark that belongs to the character before it"
    if _ONE_LETTER.fullmatch(key):
        return "it is a single letter or character"
    return None
