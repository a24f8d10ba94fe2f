"""All names of the graph at one moment, for finding them in a text and for completing them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from service.graph.linking.completion import Entry, Run, runs_of
from service.graph.linking.persistent_map import PersistentMap
from service.graph.linking.words import head, unlinkable_folded

RECENT = 1024  # names that completion looks through one by one before they become a run

Ids: TypeAlias = (
    "str | tuple[str, ...]"  # one id is the rule, and a tuple for it would cost as much as the name
)


@dataclass(frozen=True, eq=False, slots=True)
class NameIndex:
    """Immutable. ids: folded name -> the entities it may mean.

    lengths: how a linkable name begins -> bit n is set where such a name has n characters. By it a text is asked only
    for what can be there.
    """

    ids: PersistentMap[Ids] = field(default_factory=PersistentMap)
    lengths: PersistentMap[int] = field(default_factory=PersistentMap)
    runs: tuple[Run, ...] = ()
    recent: tuple[Entry, ...] = ()
    n_pairs: int = 0

    def meant(self, folded: str) -> tuple[str, ...]:
        found = self.ids.get(folded)
        if found is None:
            return ()
        return (found,) if isinstance(found, str) else found

    def extended(self, entries: Iterable[Entry]) -> NameIndex:
        """Pairs of a name and an entity that are known already are passed over."""
        new = self._new(entries)
        if not new:
            return self
        recent = (*self.recent, *new)
        small = len(recent) < RECENT
        return NameIndex(
            self.ids.extended(self._ids_with(new)),
            self.lengths.extended(self._lengths_with(new)),
            self.runs if small else (*self.runs, *runs_of(recent)),
            recent if small else (),
            self.n_pairs + len(new),
        )

    def pieces(self) -> list[object]:
        """Whatever is large in it, in small pieces."""
        return [*self.ids.shards(), *self.lengths.shards(), *self.runs, *self.recent]

    def _new(self, entries: Iterable[Entry]) -> list[Entry]:
        first: dict[tuple[str, str], Entry] = {}
        for entry in entries:
            first.setdefault((entry.folded, entry.id), entry)
        meant = {folded: frozenset(self.meant(folded)) for folded, _ in first}
        return [entry for entry in first.values() if entry.id not in meant[entry.folded]]

    def _ids_with(self, new: Sequence[Entry]) -> dict[str, Ids]:
        more: dict[str, list[str]] = defaultdict(list)
        for entry in new:
            more[entry.folded].append(entry.id)
        return {folded: _ids((*self.meant(folded), *ids)) for folded, ids in more.items()}

    def _lengths_with(self, new: Sequence[Entry]) -> dict[str, int]:
        more: dict[str, int] = {}
        for entry in new:
            if unlinkable_folded(entry.folded) is None:
                begun = head(entry.folded)
                more[begun] = more.get(begun, 0) | 1 << entry.n_chars
        return {begun: bits | (self.lengths.get(begun) or 0) for begun, bits in more.items()}


def _ids(ids: tuple[str, ...]) -> Ids:
    return ids[0] if len(ids) == 1 else ids
