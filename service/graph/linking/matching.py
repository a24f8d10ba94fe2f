"""Which names stand in a folded text, and which of them win where they overlap."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from service.graph.linking.name_index import NameIndex
from service.graph.linking.words import words


class Span(NamedTuple):
    """Characters [start, end) of a text, and the entities that this name may mean."""

    start: int
    end: int
    ids: tuple[str, ...]


def matches(text: str, known: NameIndex) -> list[Span]:
    """Every name that stands in the text, overlapping or not."""
    found: list[Span] = []
    starts, ends, heads, opens = words(text)
    may_end = frozenset(ends)
    lengths_of = known.lengths.get
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
        found += [Span(start, stop, ids) for stop in possible if (ids := known.meant(text[start:stop]))]
    return found


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def settle(found: Sequence[Span], n_chars: int) -> tuple[list[Span], list[Span]]:
    """The longest first, the leftmost among equals; then those that overlap one that was taken. In text order."""
    taken: list[Span] = []
    lost: list[Span] = []
    covered = bytearray(n_chars)
    for span in sorted(found, key=lambda one: (one.start - one.end, one.start)):
        start, end, _ = span
        # What was taken before is at least as long: it overlaps only if it covers one of the ends.
        if covered[start] or covered[end - 1]:
            lost.append(span)
        else:
            covered[start:end] = b"\1" * (end - start)
            taken.append(span)
    return sorted(taken), sorted(lost)
