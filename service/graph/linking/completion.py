"""Names that begin with what was typed, at one of their words; shortest first, so that the exact one comes first.

A run is a few thousand names in sorted order, packed into bytes: about 65 bytes a name, and sorting one is the
longest step there is. A million names are a hundred runs; each answers by two binary searches.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import accumulate
from typing import NamedTuple

from service.graph.linking.words import word_starts

RUN = 8192  # names in a run: what is sorted in one step; fits 16 bits
_KEY = 256  # bytes by which word starts are sorted; what is longer is compared name by name
_END = b"\0"  # after each name; folding leaves none in a name, and it sorts before every character


class Entry(NamedTuple):
    """In the order in which names are offered. n_chars: of the folded name. name: as written."""

    n_chars: int
    folded: str
    name: str
    id: str

    @staticmethod
    def of(folded: str, name: str, id: str) -> Entry:
        return Entry(len(folded), folded, name, id)


class Run:
    """Immutable. `_at` are the places where words begin, sorted by what follows; `_whose` names their entries."""

    __slots__ = ("_at", "_begins", "_folded", "_ids", "_names", "_offsets", "_whose")

    def __init__(self, entries: Iterable[Entry]) -> None:
        ordered = sorted(entries)
        folded = [_bytes(entry.folded) + _END for entry in ordered]
        names = [_bytes(entry.name) for entry in ordered]
        self._folded = b"".join(folded)
        self._begins = array("I", accumulate(map(len, folded), initial=0))
        self._names = b"".join(names)
        self._offsets = array("I", accumulate(map(len, names), initial=0))
        self._ids = tuple(entry.id for entry in ordered)
        found = [
            (text[at:], i, at) for i, text in enumerate(folded) for at in _word_starts(ordered[i].folded)
        ]
        found.sort()
        self._at = array("I", (self._begins[i] + at for _, i, at in found))
        self._whose = array("H", (i for _, i, _ in found))

    def beginning(self, prefix: str, limit: int) -> list[Entry]:
        wanted, text = _bytes(prefix)[:_KEY], self._folded
        size = len(wanted)
        first = bisect_left(self._at, wanted, key=lambda at: text[at : at + size])
        last = bisect_right(self._at, wanted, lo=first, key=lambda at: text[at : at + size])
        found = sorted(set(self._whose[first:last]))
        if size == _KEY:
            return [entry for entry in map(self._entry, found) if _begins(entry.folded, prefix)]
        return [self._entry(i) for i in found[:limit]]

    def _entry(self, i: int) -> Entry:
        folded = _text(self._folded[self._begins[i] : self._begins[i + 1] - 1])
        return Entry.of(folded, _text(self._names[self._offsets[i] : self._offsets[i + 1]]), self._ids[i])


def best(runs: Sequence[Run], recent: Sequence[Entry], prefix: str, limit: int) -> list[Entry]:
    """prefix: folded. recent: names that are in no run yet, looked through one by one."""
    found = [entry for run in runs for entry in run.beginning(prefix, limit)]
    found += [entry for entry in recent if prefix in entry.folded and _begins(entry.folded, prefix)]
    return nsmallest(limit, found)


def runs_of(entries: Sequence[Entry]) -> list[Run]:
    return [Run(entries[i : i + RUN]) for i in range(0, len(entries), RUN)]


def _begins(folded: str, prefix: str) -> bool:
    return any(folded.startswith(prefix, at) for at in (0, *word_starts(folded)))


def _word_starts(folded: str) -> Iterable[int]:
    """In bytes, the first included even where it is a mark."""
    if folded.isascii():
        return word_starts(folded)
    bytes_before = list(accumulate((len(_bytes(char)) for char in folded), initial=0))
    return {bytes_before[start] for start in (0, *word_starts(folded))}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(packed: bytes) -> str:
    return packed.decode("utf-8", "surrogatepass")
