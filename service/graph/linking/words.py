"""Classes of characters: those that join the one before them, and scripts without spaces between words.

They are written for `re`, which is faster than `regex` but knows no Unicode properties.

Folding makes names and texts comparable: canonical caseless form, one kind of space, one kind of apostrophe.

Unicode 3.13, D145: two strings match when NFD(casefold(NFD(x))) is the same; here its NFC is taken, so that Hangul
stays in syllables. Folding may change lengths (ß, İ, a decomposed é), so a folded text keeps the original places.

The boundaries of words in a folded text, at which a name may begin and end.

Letters and digits make words; a mark belongs to the character before it. Scripts without spaces have a boundary on
both sides of each character, Hangul on the right side only, since particles attach there. Any other character is
bounded on both sides, so that "C++" and ".pe" are names, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

import regex

# Planes 0 to 3, and the marks of plane 14: no other character joins or belongs to a script.
_CHARACTERS = "".join(map(chr, (*range(0x40000), *range(0xE0100, 0xE01F0))))


def to_class(pattern: str) -> str:
    """Return the inside of `[...]` for `re`, from a pattern of one character in the syntax of `regex`."""
    runs = (match[0] for match in regex.finditer(f"(?:{pattern})+", _CHARACTERS))
    return "".join(f"\\U{ord(run[0]):08x}-\\U{ord(run[-1]):08x}" for run in runs)


# Soft hyphen, directions, word joiner, byte-order mark, emoji or text style. NUL separates names.
INVISIBLE = r"\0\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff"
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
APOSTROPHES = "\u2018\u2019\u201b\u02bc\uff07"
DASHES = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63\uff0d", "-")
)


_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_VARIANT = re.compile(f"[{APOSTROPHES}]|[^\\S ]")  # characters that are replaced one for one
# Accents of Latin letters, in a text that is decomposed
_ACCENTS = re.compile("(?<=[a-z])[\u0300-\u036f]+")
_SHRINKING = re.compile(rf"\s\s|[{INVISIBLE}]")
# shortest stretches whose folding does not depend on their neighbours
_CLUSTER = re.compile(f"[^{JOINS}{INVISIBLE}](?:[{INVISIBLE}]*[{JOINS}]+)*|[{JOINS}]+|[{INVISIBLE}]+")


class FoldedText(NamedTuple):
    """A folded text, with the stretch of the original (`starts`, `ends`) of each folded character.

    Both are empty if the characters match one for one.
    """

    text: str
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()

    def original(self, start: int, end: int) -> tuple[int, int]:
        return (self.starts[start], self.ends[end - 1]) if self.starts else (start, end)

    def splits(self, start: int, end: int) -> bool:
        """Return whether one of the two ends lies within a single character of the original."""
        starts = self.starts
        return any(0 < at < len(starts) and starts[at] == starts[at - 1] for at in (start, end))


def fold(name: str) -> str:
    """Fold a name, as ids are made from it; return "" if it has no visible character."""
    if name.isascii():
        return " ".join(name.replace("\0", "").lower().split())
    return " ".join(_VARIANT.sub(_standard, _caseless(_INVISIBLE.sub("", name))).split())


def name_key(name: str) -> str:
    """Fold a name with every dash as a hyphen: names of one key are one name."""
    return fold(name).translate(DASHES)


def search_key(name: str) -> str:
    """Fold a name without accents, as names are found in texts: people leave them out."""
    return without_accents(name_key(name))


def without_accents(folded_name: str) -> str:
    if folded_name.isascii():
        return folded_name
    return normalize("NFC", _ACCENTS.sub("", normalize("NFD", folded_name)))


def fold_text(text: str) -> FoldedText:
    """Fold a text as `search_key` does, and keep the places of the original. Spaces at its ends stay."""
    if not _SHRINKING.search(text):
        lowercase = text.casefold()
        plain = without_accents(lowercase)
        if text.isascii() or (len(plain) == len(lowercase) == len(text) and lowercase == _caseless(text)):
            return FoldedText(_VARIANT.sub(_standard, plain).translate(DASHES))
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        start, end = cluster.span()
        folding = _fold_cluster(cluster[0])
        if chars[-1:] == [" "]:
            folding = folding.removeprefix(" ")
        chars += folding
        starts += [start] * len(folding)
        ends += [end] * len(folding)
    return FoldedText("".join(chars), starts, ends)


def _caseless(text: str) -> str:
    """Return the caseless form. The dot of a folded İ is dropped, so İzmir, İZMİR and izmir are one name."""
    return normalize("NFC", normalize("NFD", text).casefold().replace("i\u0307", "i"))


def _standard(variant: re.Match[str]) -> str:
    return " " if variant[0].isspace() else "'"


@lru_cache(maxsize=4096)
def _fold_cluster(cluster: str) -> str:
    folding = _VARIANT.sub(_standard, _caseless(_INVISIBLE.sub("", cluster)))
    return without_accents(folding).translate(DASHES)


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
