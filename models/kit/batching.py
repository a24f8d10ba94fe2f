"""Batches of similar lengths, and values that are kept for keys that recur."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def by_length(lengths: Sequence[int], budget: int, max_rows: int | None = None) -> list[list[int]]:
    """Group the places of rows, the shortest first, so that a padded group takes at most a budget of tokens.

    Args:
        lengths: Tokens of each row; a longer one than the budget is a group by itself.
        max_rows: Rows of a group; None for any number.
    """
    groups: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        group = groups[-1] if groups else []
        if not group or len(group) == max_rows or (len(group) + 1) * lengths[place] > budget:
            groups.append([])
        groups[-1].append(place)
    return groups


class Cache(Generic[K, V]):
    """Values by keys that recur; the least recently used go first. Threads may share it."""

    def __init__(self, size: float, weigh: Callable[[V], float] | None = None) -> None:
        """Make room for as many values, or for values that `weigh` so much together."""
        self._values: LRUCache[K, V] = LRUCache(size, getsizeof=weigh)
        self._lock = Lock()

    def of(self, keys: Iterable[K], compute: Callable[[list[K]], Iterable[V]]) -> dict[K, V]:
        """Return the value of each key; new ones are computed in one batch, outside the lock."""
        distinct = dict.fromkeys(keys)
        with self._lock:
            values = {key: self._values[key] for key in distinct if key in self._values}
        if new := [key for key in distinct if key not in values]:
            fresh = dict(zip(new, compute(new), strict=True))
            values |= fresh
            self.keep(fresh)
        return values

    def get(self, key: K) -> V | None:
        """Return a value, or None if it is not there."""
        with self._lock:
            return self._values.get(key)

    def keep(self, values: Mapping[K, V]) -> None:
        """Keep values that were computed elsewhere, up to one that weighs more than there is room for."""
        with self._lock, suppress(ValueError):
            self._values.update(values)
