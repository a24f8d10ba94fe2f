"""The ledger's versions that a replica has not applied yet, with the time at which each was first seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic


class Backlog:
    """The ledger's versions that are not applied yet, with the time at which each was first seen."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pending: deque[tuple[int, float]] = deque()

    def measure(self, version: int, head: int) -> float:
        """Note the versions of replica and ledger; return the seconds since the oldest pending version was seen."""
        while self._pending and self._pending[0][0] <= version:
            self._pending.popleft()
        if head > (self._pending[-1][0] if self._pending else version):
            self._pending.append((head, self._clock()))
        return self._clock() - self._pending[0][1] if self._pending else 0.0
