"""Stops asking an upstream that fails again and again, so that callers do not wait for it; edits go on answering."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

FAILURES = 5  # failures in a row after which requests are refused
FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 60.0


class Breaker:
    """The breaker of one upstream; after a pause one request tries, and its outcome decides for the others."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self.n_failures, self._pause_s, self._closed_until = 0, FIRST_PAUSE_S, float("-inf")
        self._is_trying = False  # whether a request tries after a pause

    @property
    def is_open(self) -> bool:
        return self.n_failures >= FAILURES

    def find_pause(self) -> float | None:
        """Return the seconds to wait if a request is refused; else None, and the next ones wait for its outcome."""
        if not self.is_open:
            return None
        now = self._clock()
        if now < self._closed_until:
            return self._closed_until - now
        self._closed_until, self._is_trying = now + self._pause_s, True
        return None

    def note(self, failed: bool) -> None:
        """Count the outcome of a request; failures of requests that were under way lengthen no pause."""
        if not failed:
            self.n_failures, self._pause_s, self._is_trying = 0, FIRST_PAUSE_S, False
            return
        self.n_failures += 1
        if self.n_failures == FAILURES or self._is_trying:
            self._is_trying = False
            self._closed_until = self._clock() + self._pause_s
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
