"""The bytes of bodies that all requests of an ingress may hold in memory together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from service.errors import (
    TooMany,
)


class ByteBudget:
    """A budget of bytes; four callers fill it together, each with all that it may hold."""

    def __init__(self, total: int = 256_000_000) -> None:
        self.total, self.n_held = total, 0
        self._by_caller: Counter[str] = Counter()

    def change(self, caller: str, n_bytes: int) -> None:
        """Count bytes that are held from now on or, if negative, no longer; raise TooMany if there is no room.

        Args:
            caller: A name or an address; "" for a proxy, which serves many callers and has all of the budget.
        """
        limit, n_held = self.total // 4 if caller else self.total, self._by_caller[caller] + n_bytes
        if n_bytes > 0 and (self.n_held + n_bytes > self.total or n_held > limit):
            raise TooMany(f"requests of {limit:,} bytes are under way: wait for an answer")
        self.n_held += n_bytes
        self._by_caller[caller] = n_held
        if not n_held:
            del self._by_caller[caller]

    @contextmanager
    def open(self, caller: str) -> Iterator[Callable[[int], None]]:
        """Yield a function that counts further bytes, which are held until the block ends."""
        counts: list[int] = []

        def add(n_bytes: int) -> None:
            self.change(caller, n_bytes)
            counts.append(n_bytes)

        try:
            yield add
        finally:
            self.change(caller, -sum(counts))


BUDGET = ByteBudget()
