"""An immutable mapping of a million strings that is cheap to extend.

It is cut into many small dicts by hash. Extending it copies the few that change, so that no step holds the
interpreter's lock for long.

Completion: names with a word that begins with a prefix, the shortest first, so that the exact one leads.

A run is a few thousand names in sorted order, packed into bytes: about 65 bytes a name, and sorting one run is the
longest step. A million names are a hundred runs; each answers by two binary searches.

The search for names in a folded text.

All names of the graph at one moment, to find them in a text and to complete them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import accumulate
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from more_itertools import chunked

from service.graph.linking.words import head as head_of
from service.graph.linking.words import name_key, search_key, split, unlinkable_key, word_starts

V = TypeVar("V")

N_SHARDS: Final = 1024  # number of parts, a power of two: at a million names each has about a thousand
_MASK: Final = N_SHARDS - 1


class PersistentMap(Generic[V]):
    __slots__ = ("shards",)

    def __init__(self, shards: list[dict[str, V]] | None = None) -> None:
        empty: dict[str, V] = {}
        self.shards = shards or [empty] * N_SHARDS

    def get(self, key: str) -> V | None:
        return self.shards[hash(key) & _MASK].get(key)

    def with_items(self, items: Mapping[str, V]) -> PersistentMap[V]:
        """Return this mapping with further items, which replace those of the same key."""
        new_items: dict[int, dict[str, V]] = defaultdict(dict)
        for key, value in items.items():
            new_items[hash(key) & _MASK][key] = value
        shards = self.shards.copy()
        for place, some_items in new_items.items():
            shards[place] = shards[place] | some_items
        return PersistentMap(shards)


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


MAX_RECENT = 1024  # names that completion looks through singly before they become a run

# Most names have one id, and a tuple for it would take as much memory as the name.
Ids: TypeAlias = "str | tuple[str, ...]"


@dataclass(frozen=True, eq=False, slots=True)
class NameIndex:
    """The index of all names, immutable."""

    # Key of a name -> the entities that it may mean
    ids: PersistentMap[Ids] = field(default_factory=PersistentMap)
    # The same for names with accents, by their keys without
    without_marks: PersistentMap[Ids] = field(default_factory=PersistentMap)
    # Beginning of linkable names -> a number whose bit n is set if such a name has n characters, so that a
    # text is compared only with names that fit
    lengths: PersistentMap[int] = field(default_factory=PersistentMap)
    runs: tuple[Run, ...] = ()  # the names for completion
    recent: tuple[Entry, ...] = ()  # names that are in no run yet
    n_pairs: int = 0  # number of pairs of a name and an entity

    def entities(self, key: str) -> tuple[str, ...]:
        """Return the entities that have the name of this `name_key`."""
        return _to_tuple(self.ids.get(key))

    def alike(self, key: str) -> tuple[str, ...]:
        """Return the entities that have a name of this `search_key`."""
        exact, without_marks = self.entities(key), self.without_marks.get(key)
        return exact if without_marks is None else tuple(dict.fromkeys((*exact, *_to_tuple(without_marks))))

    def with_names(self, entries: Iterable[Entry]) -> NameIndex:
        """Return this index with further names. Pairs of a name and an entity that it has already are skipped."""
        unique: dict[tuple[str, str], Entry] = {}
        for entry in entries:
            unique.setdefault((name_key(entry.name), entry.id), entry)
        present = {key: frozenset(self.entities(key)) for key in {key for key, _ in unique}}
        new = {pair: entry for pair, entry in unique.items() if entry.id not in present[pair[0]]}
        if not new:
            return self
        ids: dict[str, list[str]] = defaultdict(list)
        without_marks: dict[str, list[str]] = defaultdict(list)
        lengths: dict[str, int] = {}
        for (key, _), entry in new.items():
            ids[key].append(entry.id)
            if key != entry.key:
                without_marks[entry.key].append(entry.id)
            if unlinkable_key(entry.key) is None:
                start = head_of(entry.key)
                lengths[start] = lengths.get(start, 0) | 1 << entry.n_chars
        recent, runs = (*self.recent, *new.values()), self.runs
        if len(recent) >= MAX_RECENT:
            runs = (*runs, *map(Run, chunked(recent, RUN)))
            recent = ()
        all_lengths = {start: bits | (self.lengths.get(start) or 0) for start, bits in lengths.items()}
        return NameIndex(
            _with_ids(self.ids, ids),
            _with_ids(self.without_marks, without_marks),
            self.lengths.with_items(all_lengths),
            runs,
            recent,
            self.n_pairs + len(new),
        )

    def parts(self) -> list[object]:
        """Split the large contents into small parts, to be freed one by one."""
        return [*self.ids.shards, *self.without_marks.shards, *self.lengths.shards, *self.runs, *self.recent]


def _to_tuple(ids: Ids | None) -> tuple[str, ...]:
    return (ids,) if isinstance(ids, str) else ids or ()


def _with_ids(present: PersistentMap[Ids], new: Mapping[str, Sequence[str]]) -> PersistentMap[Ids]:
    all_ids = {key: (*_to_tuple(present.get(key)), *new_ids) for key, new_ids in new.items()}
    return present.with_items({key: ids[0] if len(ids) == 1 else ids for key, ids in all_ids.items()})
