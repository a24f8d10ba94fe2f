"""The search for names in a folded text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from service.graph.linking.name_index import NameIndex
from service.graph.linking.words import split


class Span(NamedTuple):
    """Characters [start, end) of a text, and the entities that this name may mean."""

    start: int
    end: int
    ids: tuple[str, ...]


def matches(text: str, names: NameIndex) -> list[Span]:
    """Find every name in the text, overlapping or not."""
    spans: list[Span] = []
    starts, ends, heads, opens = split(text)
    may_end = frozenset(ends)
    lengths_of = names.lengths.get
    for i, (start, end, head, may_begin) in enumerate(zip(starts, ends, heads, opens, strict=True)):
        if not may_begin:
            continue
        lengths = lengths_of(text[start:head]) or 0
        if head != end:
            lengths |= lengths_of(text[start:end]) or 0
        if not lengths:
            continue
        last = bisect_right(ends, start + lengths.bit_length() - 1, i)
        if last - i > lengths.bit_count():
            possible = [stop for n in _bits(lengths) if (stop := start + n) in may_end]
        else:
            possible = [stop for stop in ends[i:last] if lengths >> (stop - start) & 1]
        spans += [Span(start, stop, ids) for stop in possible if (ids := names.alike(text[start:stop]))]
    return spans


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
