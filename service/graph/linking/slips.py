"""Names that a text has nearly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import or_
from typing import NamedTuple

from models.scope.spelling import resembling
from models.scope.vocabulary import MIN_LETTERS
from service.graph.linking.name_index import NameIndex
from service.graph.linking.search import matches
from service.graph.linking.words import split

MAX_BEFORE = 3  # words of a name in front of its misspelt one
IsCommon = Callable[[str], bool]


class Slip(NamedTuple):
    """Characters [start, end) of a text, and the folded name that may be meant."""

    start: int
    end: int
    name: str


def find_slips(text: str, names: NameIndex, is_common: IsCommon) -> Iterator[Slip]:
    """Yield the names that may be meant by the words of a folded text that are neither linked nor common.

    Args:
        names: The names; those of fewer than MIN_LETTERS characters are too often other words.
        is_common: Tells whether a word is so common that it is not taken for a slip.
    """
    spans = matches(text, names)
    starts, ends, heads, _ = split(text)
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        word = text[start:end]
        if len(word) < MIN_LETTERS - 1 or not word.isalpha() or is_common(word):
            continue
        if any(span.start < end and start < span.end for span in spans):
            continue
        spellings = list(dict.fromkeys(resembling(word)))
        for first in range(max(0, place - MAX_BEFORE), place + 1):
            before = text[starts[first] : start]
            if first < place:
                options, lengths = spellings, names.lengths.get(text[starts[first] : heads[first]]) or 0
            else:
                options = [spelling for spelling in spellings if names.lengths.get(spelling)]
                lengths = reduce(or_, (names.lengths.get(spelling) or 0 for spelling in options), 0)
            for stop in ends[place:]:
                around = lengths >> len(before) + stop - start - 1  # a slip is one character, more or less
                if not around:
                    break
                for spelling in options if around & 0b111 else ():
                    name = before + spelling + text[end:stop]
                    if len(name) >= MIN_LETTERS and names.alike(name):
                        yield Slip(starts[first], stop, name)
