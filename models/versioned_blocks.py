"""The blocks of one version of a memory; versions that only add share one list and one index.

A mapping of a hundred thousand blocks takes 6 MB. A version that follows another by adding takes a few hundred bytes,
and a commit costs what it adds. A version that removes or replaces has its own list.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar, overload
from weakref import WeakSet, ref

if TYPE_CHECKING:
    from models.blocks import Block

T = TypeVar("T")


class Prefix(Sequence[T], Generic[T]):
    """The first items of a list to which others may be appended; immutable, and safe to read meanwhile."""

    __slots__ = ("__weakref__", "_count", "_items")

    def __init__(self, items: list[T], count: int | None = None) -> None:
        self._items, self._count = items, len(items) if count is None else count

    def starts_with(self, other: Prefix[T]) -> bool:
        """Return whether `other` is the beginning of this one because both share a list."""
        return self.shares_list(other) and len(other) <= len(self)

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


class BlockList:
    """The list and the index that versions share; a block goes with the last version that has it."""

    def __init__(self, blocks: list[Block]) -> None:
        self._blocks, self._lock = blocks, threading.Lock()
        self.places = {block.key: place for place, block in enumerate(blocks)}
        self._versions: set[ref[Prefix[Block]]] = set()

    def find(self, key: str) -> Block | None:
        """Return the block of a key, of whichever version."""
        with self._lock:
            place = self.places.get(key)
            return None if place is None else self._blocks[place]

    def prefix(self) -> Prefix[Block]:
        """Return all blocks as a version."""
        version, this = Prefix(self._blocks), ref(self)

        def forget(reference: ref[Prefix[Block]]) -> None:
            shared = this()
            if shared is not None:
                shared._forget(reference)

        self._versions.add(ref(version, forget))
        return version

    def extend(self, count: int, blocks: Sequence[Block]) -> Prefix[Block] | None:
        """Return the first `count` blocks with others behind them; None if a living version has its own there."""
        with self._lock:
            further = self._blocks[count:]
            if len(further) == len(blocks) and all(map(_is_equal, further, blocks)):
                return self.prefix()
            if self._longest() > count:
                return None
            self._drop_from(count)
            self._versions = {reference for reference in self._versions if reference() is not None}
            self.places.update((block.key, count + number) for number, block in enumerate(blocks))
            self._blocks.extend(blocks)
            return self.prefix()

    def _forget(self, reference: ref[Prefix[Block]]) -> None:
        """Drop blocks that only a version had which is no longer read."""
        if self._lock.acquire(blocking=False):  # `extend` drops it otherwise
            try:
                self._versions.discard(reference)
                self._drop_from(self._longest())
            finally:
                self._lock.release()

    def _longest(self) -> int:
        versions = (reference() for reference in self._versions)
        return max((len(version) for version in versions if version is not None), default=0)

    def _drop_from(self, count: int) -> None:
        for block in self._blocks[count:]:
            del self.places[block.key]
        del self._blocks[count:]


class KnownBlocks:
    """The blocks of all versions that a process reads, so that another version shares them. Nothing is kept alive."""

    def __init__(self) -> None:
        self._lists: WeakSet[BlockList] = WeakSet()

    def add(self, version: VersionedBlocks) -> None:
        """Learn the blocks of a version."""
        self._lists.add(version._list)

    def find(self, entries: Sequence[tuple[str, int, str]]) -> list[Block | None]:
        """Return the block of each key, order and digest; None where no version has it."""
        blocks: list[Block | None] = [None] * len(entries)
        for shared in list(self._lists):
            for place, (key, order, digest) in enumerate(entries):
                block = shared.find(key) if blocks[place] is None else None
                if block is not None and (block.order, block.digest) == (order, digest):
                    blocks[place] = block
        return blocks


class VersionedBlocks(Mapping[str, "Block"]):
    """Blocks by their keys, in the ledger's order. Immutable.

    Attributes:
        in_order: The blocks in the ledger's order.
    """

    __slots__ = ("_list", "in_order")

    def __init__(self, blocks: BlockList, in_order: Prefix[Block]) -> None:
        self._list, self.in_order = blocks, in_order

    @staticmethod
    def of(blocks: Iterable[Block]) -> VersionedBlocks:
        """Return blocks in any order as a version that shares nothing."""
        shared = BlockList(sorted(blocks, key=_place))
        return VersionedBlocks(shared, shared.prefix())

    def changed(self, puts: Sequence[Block], removes: Sequence[str]) -> VersionedBlocks:
        """Return the version with blocks put, each in place of one of the same key, and keys removed.

        KeyError: a key to be removed is not there.
        """
        fresh = sorted(puts, key=_place)
        if not fresh and not removes:
            return self
        if not removes and self._is_behind_all(fresh):
            in_order = self._list.extend(len(self), fresh)
            if in_order is not None:
                return VersionedBlocks(self._list, in_order)
        blocks = {block.key: block for block in self.in_order}
        for key in removes:
            del blocks[key]
        return VersionedBlocks.of((blocks | {block.key: block for block in fresh}).values())

    def _is_behind_all(self, fresh: Sequence[Block]) -> bool:
        """Return whether all of the sorted blocks are new and follow on the last of these."""
        is_later = not self.in_order or _place(self.in_order[-1]) < _place(fresh[0])
        keys = {block.key for block in fresh}
        return is_later and len(keys) == len(fresh) and not any(key in self for key in keys)

    def __getitem__(self, key: str) -> Block:
        place = self._list.places[key]
        if place >= len(self.in_order):
            raise KeyError(key)
        return self.in_order[place]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._list.places.get(key, len(self.in_order)) < len(self.in_order)

    def __iter__(self) -> Iterator[str]:
        return (block.key for block in self.in_order)

    def __len__(self) -> int:
        return len(self.in_order)


def _is_equal(block: Block, other: Block) -> bool:
    return (block.key, block.order, block.sha256) == (other.key, other.order, other.sha256)


def _place(block: Block) -> tuple[int, str]:
    return block.order, block.key
