"""Folding makes names and texts comparable: canonical caseless form, one kind of space, one kind of apostrophe.

Unicode 3.13, D145: two strings match when NFD(casefold(NFD(x))) is the same; here its NFC is taken, so that Hangul
stays in syllables. Folding may change lengths (ß, İ, a decomposed é), so a folded text keeps the original places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from service.graph.linking.characters import INVISIBLE, JOINS

APOSTROPHES = "\u2018\u2019\u201b\u02bc\uff07"
PUNCTUATION = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63\uff0d", "-")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02", '"')
)
# Latin letters with a stroke, which have no decomposition, and the dotless i
STROKES = str.maketrans("\u00f8\u0142\u0111\u0127\u0167\u0131", "oldhti")
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
    folded_name = fold(name)
    return folded_name if folded_name.isascii() else folded_name.translate(PUNCTUATION)


def search_key(name: str) -> str:
    """Fold a name without accents, as names are found in texts: people leave them out."""
    return without_accents(name_key(name))


def without_accents(folded_name: str) -> str:
    if folded_name.isascii():
        return folded_name
    return normalize("NFC", _ACCENTS.sub("", normalize("NFD", folded_name).translate(STROKES)))


def fold_text(text: str) -> FoldedText:
    """Fold a text as `search_key` does, and keep the places of the original. Spaces at its ends stay."""
    if not _SHRINKING.search(text):
        lowercase = text.casefold()
        plain = without_accents(lowercase)
        if text.isascii() or (len(plain) == len(lowercase) == len(text) and lowercase == _caseless(text)):
            return FoldedText(_VARIANT.sub(_standard, plain).translate(PUNCTUATION))
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
    return without_accents(folding).translate(PUNCTUATION)
