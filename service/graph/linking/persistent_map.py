"""An immutable mapping of a million strings that is cheap to extend.

It is cut into many small dicts by hash. Extending it copies the few that change, so that no step holds the
interpreter's lock for long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

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
