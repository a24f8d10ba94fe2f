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

from service.graph.linking.characters import APOSTROPHES, INVISIBLE, JOINS

_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_VARIANT = re.compile(f"[{APOSTROPHES}]|[^\\S ]")  # characters that are replaced one for one
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
    """Fold a name for look-up; return "" if it has no visible character."""
    if name.isascii():
        return " ".join(name.replace("\0", "").lower().split())
    return " ".join(_VARIANT.sub(_standard, _caseless(_INVISIBLE.sub("", name))).split())


def fold_text(text: str) -> FoldedText:
    """Fold a text, and keep the places of the original. Spaces at its ends stay."""
    if not _SHRINKING.search(text):
        lowercase = text.casefold()
        if text.isascii() or (len(lowercase) == len(text) and lowercase == _caseless(text)):
            return FoldedText(_VARIANT.sub(_standard, lowercase))
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
    return _VARIANT.sub(_standard, _caseless(_INVISIBLE.sub("", cluster)))
