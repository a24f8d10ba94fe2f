"""Where a name may begin and end in a folded text.

A name begins and ends where a word does. Letters and digits make words; a mark belongs to what it stands on. Scripts
without spaces have a boundary on both sides of each character, Hangul on the right side only: particles attach.
Everything that is no word is bounded on both sides, so that "C++" and ".pe" are names, too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from service.graph.linking.characters import HANGUL, JOINS, UNSPACED
from service.graph.linking.folding import fold

_WORD, _SYLLABLE, _STRAY = 1, 2, 3  # numbers of the groups below; what is in none is bounded on both sides
_SPACED = (_WORD, _SYLLABLE)  # stray: a mark that stands on nothing
_ASCII_WORD = re.compile("[a-z0-9]+")
_ASCII = re.compile(r"([a-z0-9]+)|[^a-z0-9 ]")
_ANY = re.compile(
    f"((?:[^\\W_{UNSPACED}{HANGUL}{JOINS}][{JOINS}]*)+)|([{HANGUL}][{JOINS}]*)|([{JOINS}]+)|[^ {JOINS}][{JOINS}]*"
)
_ONE_LETTER = re.compile(f"[^\\W\\d_][{JOINS}]*")
_STRAY_MARK = re.compile(f"[{JOINS}]")


LONGEST = 300  # characters of a name that is looked for inside texts; Wikidata allows a label 250


class Words(NamedTuple):
    """The stretches of a folded text that no boundary divides, spaces left out.

    heads: where the stretch ends by which the names that begin here are looked up. opens: may a name begin here.
    """

    starts: list[int]
    ends: list[int]
    heads: list[int]
    opens: list[bool]


def words(text: str) -> Words:
    return _ascii_words(text) if text.isascii() else _any_words(text)


def head(name: str) -> str:
    """By what a folded name is looked up: how it begins."""
    first = _ASCII_WORD.match(name) if name.isascii() else None
    return first[0] if first else name[: words(name).heads[0]]


def word_starts(name: str) -> list[int]:
    """Where words of a folded name begin."""
    if name.isascii():
        return [match.start() for match in _ASCII.finditer(name)]
    found = words(name)
    return [start for start, opens in zip(found.starts, found.opens, strict=True) if opens]


def _ascii_words(text: str) -> Words:
    found = [match.span() for match in _ASCII.finditer(text)]
    starts, ends = [start for start, _ in found], [end for _, end in found]
    kinds = [_WORD if text[start].isalnum() else 0 for start in starts]
    return Words(starts, ends, _heads(ends, kinds), [True] * len(found))


def _any_words(text: str) -> Words:
    starts, ends, kinds, opens = [], [], [], []
    before, kind_before = -1, 0
    for match in _ANY.finditer(text):
        start, end = match.span()
        kind = match.lastindex or 0
        starts.append(start)
        ends.append(end)
        kinds.append(kind)
        glued = kind in _SPACED and kind_before in _SPACED and start == before
        opens.append(kind != _STRAY and not glued)
        before, kind_before = end, kind
    return Words(starts, ends, _heads(ends, kinds), opens)


def _heads(ends: list[int], kinds: list[int]) -> list[int]:
    """A word tells names apart well enough; of anything smaller two are taken, where there are two."""
    after = [*ends[1:], *ends[-1:]]
    return [end if kind == _WORD else two for end, two, kind in zip(ends, after, kinds, strict=True)]


def unlinkable(name: str) -> str | None:
    """Why a name is never found inside a sentence; None when it can be. It may still be looked up."""
    return unlinkable_folded(fold(name))


def unlinkable_folded(folded: str) -> str | None:
    if not folded:
        return "it is empty"
    if len(folded) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if _STRAY_MARK.match(folded):
        return "it begins with a mark that belongs to the character before it"
    if _ONE_LETTER.fullmatch(folded):
        return "it is a single letter or character"
    return None
