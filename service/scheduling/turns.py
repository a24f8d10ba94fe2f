"""Who goes first in a queue: callers by the work of their questions.

Callers share a queue equally, and so do the requests of one caller: deficit round robin (Shreedhar and Varghese,
SIGCOMM 1995), once for the callers and once more for the requests of each.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from time import monotonic
from typing import Generic, NamedTuple, Protocol, TypeVar

RECENT_S = 0.5  # period after its last question or answer in which a caller is expected to ask again

Key = TypeVar("Key", bound=Hashable)


class Asker(NamedTuple):
    """The caller and the request that a question belongs to."""

    caller: str = ""  # name or address; callers are answered in turn
    request: str = ""  # one of the caller's requests; they are answered in turn, too


class Waiting(Protocol):
    """An item that waits for a turn; its work is more than 0."""

    @property
    def asker(self) -> Asker:
        """Whose turn it waits for."""

    @property
    def work(self) -> int:
        """How much of a turn it takes."""


Item = TypeVar("Item", bound=Waiting)


class Flow(Generic[Item]):
    """The items of one caller, or of one request.

    Attributes:
        credit: Work that may still be taken before others have a turn.
        work: Work of all items that came since the flow was last empty.
    """

    def __init__(self, quantum: int) -> None:
        self._quantum = self.credit = quantum
        self.work = 0
        self.items: deque[Item] = deque()
        self.parts: OrderedDict[Hashable, Flow[Item]] = OrderedDict()

    def add(self, item: Item, path: Sequence[Hashable]) -> None:
        self.work += item.work
        if path:
            self.parts.setdefault(path[0], Flow(self._quantum)).add(item, path[1:])
        else:
            self.items.append(item)

    def first(self) -> Item:
        """Return the item whose turn it is; a part that has used up its credit gets more and goes behind the others."""
        while not self.items:
            key, part = next(iter(self.parts.items()))
            item = part.first()
            if item.work <= part.credit:
                return item
            part.credit += self._quantum
            self.parts.move_to_end(key)
        return self.items[0]

    def rotate(self) -> int:
        """Let the next part have its turn, and return the number of parts."""
        if len(self.parts) == 1:
            return next(iter(self.parts.values())).rotate()
        if self.parts:
            self.parts.move_to_end(next(iter(self.parts)))
        return len(self.parts)

    def remove(self, item: Item, path: Sequence[Hashable]) -> int:
        """Remove an item, and return the work of its whole request."""
        if not path:
            self.items.remove(item)
            return self.work
        part = self.parts[path[0]]
        part.credit -= item.work
        work = part.remove(item, path[1:])
        if not part.items and not part.parts:
            del self.parts[path[0]]
        return work


class Recent(Generic[Key]):
    """Who asked or was answered in the last RECENT_S, the latest last."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._times = clock, OrderedDict[Key, float]()

    def __contains__(self, key: Key) -> bool:
        return key in self._times

    def note(self, key: Key) -> None:
        """Take the key as the latest."""
        now = self._times[key] = self._clock()
        self._times.move_to_end(key)
        while now - next(iter(self._times.values())) >= RECENT_S:
            self._times.popitem(last=False)

    def other_than(self, key: Key) -> Key | None:
        """Return the latest other key, if there is one."""
        latest = next((other for other in reversed(self._times) if other != key), None)
        return latest if latest is not None and self._clock() - self._times[latest] < RECENT_S else None


class Turns(Generic[Item]):
    """The waiting items."""

    def __init__(self, quantum: int, clock: Callable[[], float] = monotonic) -> None:
        self._quantum, self._clock = quantum, clock
        self._root: Flow[Item] = Flow(quantum)
        self._items: set[Item] = set()
        self._counts: Counter[str] = Counter()
        self._callers: Recent[str] = Recent(clock)
        self._short_requests: Recent[Asker] = Recent(clock)
        self._rests: dict[Hashable, float] = {}

    def __len__(self) -> int:
        return len(self._items)

    def count(self, caller: str) -> int:
        """Return the number of the caller's waiting items."""
        return self._counts[caller]

    @property
    def n_callers(self) -> int:
        return len(self._counts)

    def add(self, item: Item) -> None:
        self._root.add(item, item.asker)
        self._items.add(item)
        self._counts[item.asker.caller] += 1
        self._callers.note(item.asker.caller)

    def take(self, max_work: int, running: Sequence[Item] = (), n_turns: int = 1) -> list[Item]:
        """Take the next items.

        While others ask, a caller has at most a turn in a batch, or as much as the others have together, so that the
        next question waits for a short batch.

        Args:
            max_work: Work of the items together; a single item may have more.
            running: Items that were taken before and are under way.
            n_turns: Turns that one caller may have under way while others ask.
        """
        items: list[Item] = []
        n_passed = 0
        while self._items:
            item = self._root.first()
            if items and item.work > max_work:
                break
            is_ahead = self._is_ahead(item, [*running, *items], n_turns * self._quantum)
            if is_ahead or self._is_ahead(item, items, self._quantum):
                n_passed += 1
                if n_passed >= self._root.rotate():
                    break
                continue
            self.discard(item)
            items.append(item)
            max_work -= item.work
        return items

    def rest(self, asker: Asker, seconds: float) -> None:
        """Let others with short questions go before the caller for a time."""
        now = self._clock()
        self._rests = {key: end for key, end in self._rests.items() if end > now}
        self._rests |= dict.fromkeys((asker, asker.caller), now + seconds)

    def discard(self, item: Item) -> None:
        """Remove an item if it waits."""
        if item not in self._items:
            return
        self._items.remove(item)
        if self._root.remove(item, item.asker) <= self._quantum:
            self._short_requests.note(item.asker)
        self._counts[item.asker.caller] -= 1
        if not self._counts[item.asker.caller]:
            del self._counts[item.asker.caller]

    def expect(self, items: Sequence[Item]) -> None:
        """Expect that the askers of items, which were answered just now, ask again."""
        for asker in {item.asker for item in items}:
            self._callers.note(asker.caller)
            if asker in self._short_requests:
                self._short_requests.note(asker)

    def _is_ahead(self, item: Item, share: Sequence[Item], max_work: int) -> bool:
        """Return whether the asker rests, or would get more work done than `max_work` and than the others together."""
        asker = item.asker
        if self._is_resting(asker):
            return True
        if self._callers.other_than(asker.caller) is not None:
            rivals = [rival.work for rival in share if rival.asker.caller != asker.caller]
        elif self._short_requests.other_than(asker) is not None:
            rivals = [rival.work for rival in share if rival.asker != asker]
        else:
            return False
        share_work = sum(entry.work for entry in share) - sum(rivals)
        return len(share) > 0 and share_work + item.work > max(max_work, sum(rivals))

    def _is_resting(self, asker: Asker) -> bool:
        """Return whether the asker rests, as it does only while another has a short question."""
        short = self._short_requests.other_than(asker)
        if short is None:
            return False
        key: Hashable = asker if short.caller == asker.caller else asker.caller
        now = self._clock()
        return now < self._rests.get(key, now)
