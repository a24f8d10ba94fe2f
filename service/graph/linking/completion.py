"""Completion: names with a word that begins with a prefix, the shortest first, so that the exact one leads.

A run is a few thousand names in sorted order, packed into bytes: about 65 bytes a name, and sorting one run is the
longest step. A million names are a hundred runs; each answers by two binary searches.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import accumulate
from typing import NamedTuple

from service.graph.linking.folding import search_key
from service.graph.linking.words import word_starts

RUN = 8192  # names in a run, which is sorted in one step; their number fits 16 bits
_KEY_BYTES = 256  # bytes of a prefix that are searched for; a longer one is compared name by name
_END = b"\0"  # end of each name; folding leaves none in a name, and it sorts before every character


class Entry(NamedTuple):
    """A name; entries sort in the order in which names are offered."""

    n_chars: int  # length of `key`
    key: str  # the name as `search_key` folds it
    name: str  # the name as written
    id: str  # the entity

    @staticmethod
    def of(name: str, id: str) -> Entry:
        key = search_key(name)
        return Entry(len(key), key, name, id)


class Run:
    """Names in sorted order, immutable.

    `_starts` are places of words, sorted by their text; `_owners` are their entries.
    """

    __slots__ = ("_ends", "_ids", "_keys", "_name_ends", "_names", "_owners", "_starts")

    def __init__(self, entries: Iterable[Entry]) -> None:
        sorted_entries = sorted(entries)
        keys = [_encode(entry.key) + _END for entry in sorted_entries]
        names = [_encode(entry.name) for entry in sorted_entries]
        self._keys = b"".join(keys)
        self._ends = array("I", accumulate(map(len, keys), initial=0))
        self._names = b"".join(names)
        self._name_ends = array("I", accumulate(map(len, names), initial=0))
        self._ids = tuple(entry.id for entry in sorted_entries)
        suffixes = [
            (text[start:], i, start)
            for i, text in enumerate(keys)
            for start in _word_starts(sorted_entries[i].key)
        ]
        suffixes.sort()
        self._starts = array("I", (self._ends[i] + start for _, i, start in suffixes))
        self._owners = array("H", (i for _, i, _ in suffixes))

    def beginning(self, prefix: str, limit: int) -> list[Entry]:
        """Return the first entries with a word that begins with a folded prefix, in their order."""
        prefix_bytes, text = _encode(prefix)[:_KEY_BYTES], self._keys
        size = len(prefix_bytes)
        first = bisect_left(self._starts, prefix_bytes, key=lambda start: text[start : start + size])
        last = bisect_right(
            self._starts, prefix_bytes, lo=first, key=lambda start: text[start : start + size]
        )
        places = sorted(set(self._owners[first:last]))
        if size == _KEY_BYTES:
            return [entry for entry in map(self._entry, places) if _begins(entry.key, prefix)]
        return [self._entry(i) for i in places[:limit]]

    def _entry(self, i: int) -> Entry:
        key = _decode(self._keys[self._ends[i] : self._ends[i + 1] - 1])
        name = _decode(self._names[self._name_ends[i] : self._name_ends[i + 1]])
        return Entry(len(key), key, name, self._ids[i])


def best(runs: Sequence[Run], recent: Sequence[Entry], prefix: str, limit: int) -> list[Entry]:
    """Return the first entries that match a folded prefix; `recent` names, in no run yet, are compared singly."""
    entries = [entry for run in runs for entry in run.beginning(prefix, limit)]
    entries += [entry for entry in recent if prefix in entry.key and _begins(entry.key, prefix)]
    return nsmallest(limit, entries)


def _begins(key: str, prefix: str) -> bool:
    return any(key.startswith(prefix, start) for start in (0, *word_starts(key)))


def _word_starts(key: str) -> Iterable[int]:
    """Return the places of words, in bytes, and always the first byte, even if it is a mark."""
    if key.isascii():
        return word_starts(key)
    bytes_before = list(accumulate((len(_encode(char)) for char in key), initial=0))
    return {bytes_before[start] for start in (0, *word_starts(key))}


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
