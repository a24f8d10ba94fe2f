"""All names of the graph at one moment, to find them in a text and to complete them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from more_itertools import chunked

from service.graph.linking.completion import RUN, Entry, Run
from service.graph.linking.folding import name_key
from service.graph.linking.persistent_map import PersistentMap
from service.graph.linking.words import head as head_of
from service.graph.linking.words import unlinkable_key

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
