"""Bytes that callers make this process hold: bodies, heads, and answers that wait for a slow reader.

All callers together have a bound, and each has a quarter of it. Both are looked at before anything is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from service.errors import TooMany

SHARE = 4  # Callers that fill the budget together, each with all that it may hold


class ByteBudget:
    """total: bytes of all callers together."""

    def __init__(self, total: int = 256_000_000) -> None:
        self.total = total
        self.n_held = 0
        self._by_caller: Counter[str] = Counter()

    def change(self, caller: str, n_bytes: int) -> None:
        """Count bytes that are held from now on, or, if negative, no longer.

        Args:
            caller: A name or an address; "" for a proxy, which speaks for many and has all of the budget.

        Raises:
            TooMany: There is no room for them.
        """
        limit = self.total // SHARE if caller else self.total
        is_full = self.n_held + n_bytes > self.total or self._by_caller[caller] + n_bytes > limit
        if n_bytes > 0 and is_full:
            detail = f"requests of {limit:,} bytes are under way: send less at once, or wait for an answer"
            raise TooMany(detail)
        self.n_held += n_bytes
        self._by_caller[caller] += n_bytes
        if not self._by_caller[caller]:
            del self._by_caller[caller]

    @contextmanager
    def open(self, caller: str) -> Iterator[Callable[[int], None]]:
        """Yield a function that counts further bytes, which are held until the block ends."""
        n_held = 0

        def add(n_bytes: int) -> None:
            nonlocal n_held
            self.change(caller, n_bytes)
            n_held += n_bytes

        try:
            yield add
        finally:
            self.change(caller, -n_held)


BUDGET = ByteBudget()
