"""Whose turn it is: callers take turns by the work that they ask for, and so do the requests of one caller.

Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), once for the callers and once more inside of each.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar


class Asker(NamedTuple):
    """Whose question it is.

    caller: who is answered in turn with others, by name or address. request: one of the caller's requests.
    """

    caller: str = ""
    request: str = ""


class Waiting(Protocol):
    """What waits for a turn. work: of one turn, more than 0."""

    @property
    def asker(self) -> Asker: ...

    @property
    def work(self) -> int: ...


Item = TypeVar("Item", bound=Waiting)


@dataclass
class Flow(Generic[Item]):
    """The items of one caller, or of one request. credit: work that it may still take before others have a turn."""

    credit: int = 0
    items: deque[Item] = field(default_factory=deque)
    parts: OrderedDict[Hashable, Flow[Item]] = field(default_factory=OrderedDict)

    def add(self, item: Item, path: Sequence[Hashable]) -> None:
        if path:
            self.parts.setdefault(path[0], Flow()).add(item, path[1:])
        else:
            self.items.append(item)

    def first(self, quantum: int) -> Item:
        """Return the item whose turn it is; the parts before it have used their credit, and are given more."""
        while not self.items:
            key, part = next(iter(self.parts.items()))
            item = part.first(quantum)
            if item.work <= part.credit:
                return item
            part.credit += quantum
            self.parts.move_to_end(key)
        return self.items[0]

    def remove(self, item: Item, path: Sequence[Hashable]) -> None:
        if not path:
            self.items.remove(item)
            return
        part = self.parts[path[0]]
        part.credit -= item.work
        part.remove(item, path[1:])
        if not part.items and not part.parts:
            del self.parts[path[0]]


class Turns(Generic[Item]):
    """The items that wait. quantum: the work of one turn."""

    def __init__(self, quantum: int) -> None:
        self._quantum = quantum
        self._root: Flow[Item] = Flow()
        self._items: set[Item] = set()
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._items)

    def count(self, caller: str) -> int:
        """Return how many items of the caller wait."""
        return self._counts[caller]

    @property
    def n_callers(self) -> int:
        return len(self._counts)

    def add(self, item: Item) -> None:
        self._root.add(item, item.asker)
        self._items.add(item)
        self._counts[item.asker.caller] += 1

    def take(self, max_work: int) -> list[Item]:
        """Take the next items, of `max_work` together; the first of them may have more."""
        items: list[Item] = []
        while self._items:
            item = self._root.first(self._quantum)
            if items and item.work > max_work:
                break
            self.discard(item)
            items.append(item)
            max_work -= item.work
        return items

    def discard(self, item: Item) -> None:
        """Take this item, if it waits."""
        if item not in self._items:
            return
        self._items.remove(item)
        self._root.remove(item, item.asker)
        self._counts[item.asker.caller] -= 1
        if not self._counts[item.asker.caller]:
            del self._counts[item.asker.caller]
