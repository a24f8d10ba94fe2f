"""The blocks of one version of a memory; versions that only add share one list and one index.

A mapping of a hundred thousand blocks takes 6 MB. A version that follows another by adding takes a few hundred bytes,
and a commit costs what it adds. A version that removes or replaces has its own list.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from models.memory import Block

T = TypeVar("T")


class Prefix(Sequence[T], Generic[T]):
    """The first items of a list to which others are appended; immutable, and safe to read meanwhile."""

    __slots__ = ("_count", "_items", "_lock")

    def __init__(self, items: list[T], count: int | None = None, lock: threading.Lock | None = None) -> None:
        self._items, self._lock = items, lock or threading.Lock()
        self._count = len(items) if count is None else count

    def extended(self, items: Iterable[T]) -> Prefix[T]:
        """Return the items with others behind them; the list is shared unless it has others there already."""
        with self._lock:
            if self._count == len(self._items):
                self._items.extend(items)
                return Prefix(self._items, len(self._items), self._lock)
        return Prefix([*self, *items])

    def starts_with(self, other: Prefix[T]) -> bool:
        """Return whether `other` is the beginning of this one because both share a list."""
        return self._items is other._items and other._count <= self._count

    def shares_list(self, other: Prefix[T]) -> bool:
        """Return whether equal places hold the same item in both."""
        return self._items is other._items

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._count)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self._items[index] for index in range(*place.indices(self._count))]
        if not -self._count <= place < self._count:
            raise IndexError(place)
        return self._items[place % self._count]


class VersionedBlocks(Mapping[str, "Block"]):
    """Blocks by their keys, in the ledger's order. Immutable.

    Attributes:
        ordered: The blocks in the ledger's order.
    """

    __slots__ = ("_places", "ordered")

    def __init__(self, ordered: Prefix[Block], places: dict[str, int]) -> None:
        self.ordered, self._places = ordered, places

    @staticmethod
    def of(blocks: Iterable[Block]) -> VersionedBlocks:
        """Return blocks in any order as a version that shares nothing."""
        ordered = sorted(blocks, key=_place)
        return VersionedBlocks(Prefix(ordered), {block.key: place for place, block in enumerate(ordered)})

    def changed(self, puts: Sequence[Block], removes: Sequence[str]) -> VersionedBlocks:
        """Return the version with blocks put, each in place of one of the same key, and keys removed.

        Raises:
            KeyError: A key to be removed is not there.
        """
        fresh = sorted(puts, key=_place)
        if not fresh and not removes:
            return self
        if not removes and self._is_behind_all(fresh):
            ordered = self.ordered.extended(fresh)
            if ordered.shares_list(self.ordered):
                self._places.update((block.key, len(self) + n) for n, block in enumerate(fresh))
                return VersionedBlocks(ordered, self._places)
        blocks = {block.key: block for block in self.ordered}
        for key in removes:
            del blocks[key]
        return VersionedBlocks.of((blocks | {block.key: block for block in fresh}).values())

    def _is_behind_all(self, fresh: Sequence[Block]) -> bool:
        """Return whether all of the sorted blocks are new and follow on the last of these."""
        is_later = not self.ordered or _place(self.ordered[-1]) < _place(fresh[0])
        return (
            is_later
            and len({block.key for block in fresh}) == len(fresh)
            and not any(block.key in self for block in fresh)
        )

    def __getitem__(self, key: str) -> Block:
        place = self._places[key]
        if place >= len(self.ordered):
            raise KeyError(key)
        return self.ordered[place]

    def __contains__(self, key: object) -> bool:
        return self._places.get(key, len(self.ordered)) < len(self.ordered)  # type: ignore[call-overload,no-any-return]

    def __iter__(self) -> Iterator[str]:
        return (block.key for block in self.ordered)

    def __len__(self) -> int:
        return len(self.ordered)


def _place(block: Block) -> tuple[int, str]:
    return block.order, block.key
