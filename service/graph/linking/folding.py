"""How a name and a text are made comparable: canonical caseless form, one kind of space, one kind of apostrophe.

Unicode 3.13, D145: two strings match when NFD(casefold(NFD(x))) is the same; here NFC is taken of it, so that Hangul
stays in syllables. Folding may change lengths (ß, İ, a decomposed é), so a folded text knows where it came from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from service.graph.linking.characters import APOSTROPHES, DROPPED, JOINS

_DROPPED = re.compile(f"[{DROPPED}]")
_ODD = re.compile(f"[{APOSTROPHES}]|[^\\S ]")  # what becomes another character, one for one
_UNEVEN = re.compile(rf"\s\s|[{DROPPED}]")
# The shortest stretches that fold to the same, whatever stands beside them.
_PIECE = re.compile(f"[^{JOINS}{DROPPED}](?:[{DROPPED}]*[{JOINS}]+)*|[{JOINS}]+|[{DROPPED}]+")


class Folded(NamedTuple):
    """starts, ends: for each folded character the stretch of the original that it came from.

    Empty when both are the same, character for character.
    """

    text: str
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()

    def original(self, start: int, end: int) -> tuple[int, int]:
        return (self.starts[start], self.ends[end - 1]) if self.starts else (start, end)

    def splits(self, start: int, end: int) -> bool:
        """True where one of the two ends lies within what was one character of the original."""
        if not self.starts:
            return False
        return _inside(self.starts, start) or _inside(self.starts, end)


def fold(name: str) -> str:
    """A name as it is looked up; "" when nothing of it is visible."""
    if name.isascii():
        return " ".join(name.replace("\0", "").lower().split())
    return " ".join(_ODD.sub(_even, _caseless(_DROPPED.sub("", name))).split())


def fold_text(text: str) -> Folded:
    """A text, folded, with the way back. Spaces at its ends stay."""
    if not _UNEVEN.search(text):
        lowered = text.casefold()
        if text.isascii() or (len(lowered) == len(text) and lowered == _caseless(text)):
            return Folded(_ODD.sub(_even, lowered))
    return _mapped(text)


def _caseless(text: str) -> str:
    """A dotted small i is an i: İ folds to one, and so İzmir, İZMİR and izmir are one name."""
    return normalize("NFC", normalize("NFD", text).casefold().replace("i\u0307", "i"))


def _even(odd: re.Match[str]) -> str:
    return " " if odd[0].isspace() else "'"


def _mapped(text: str) -> Folded:
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for piece in _PIECE.finditer(text):
        start, end = piece.span()
        folded = _piece(piece[0])
        if chars[-1:] == [" "]:
            folded = folded.removeprefix(" ")
        chars += folded
        starts += [start] * len(folded)
        ends += [end] * len(folded)
    return Folded("".join(chars), starts, ends)


@lru_cache(maxsize=4096)
def _piece(written: str) -> str:
    return _ODD.sub(_even, _caseless(_DROPPED.sub("", written)))


def _inside(starts: Sequence[int], place: int) -> bool:
    return 0 < place < len(starts) and starts[place] == starts[place - 1]
