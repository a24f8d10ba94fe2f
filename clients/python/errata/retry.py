"""When a failed call is worth repeating, and how long to wait before it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from errata.errors import ErrataError, Refused, TimedOut, TooMany, Unavailable, Unreachable


@dataclass(frozen=True)
class Retry:
    """times: repetitions after the first attempt; 0 switches them off.

    A call that timed out is not repeated: its caller has said how long to wait. A service that wants more
    patience than `longest_pause_s` is not waited for either; the error says when to come back.
    """

    times: int = 2
    first_pause_s: float = 0.2
    longest_pause_s: float = 5.0

    def pause_s(self, attempt: int, error: ErrataError) -> float | None:
        """Seconds to wait after failed attempt number `attempt` (from 0), or None to give up."""
        if attempt >= self.times or not _passing(error):
            return None
        asked_s = (error.retry_after_s or 0.0) if isinstance(error, Refused) else 0.0
        if asked_s > self.longest_pause_s:
            return None
        # Half of the pause is chance, so that callers that failed together do not come back together.
        own_s = self.first_pause_s * 2.0**attempt * random.uniform(0.5, 1.0)
        return min(max(asked_s, own_s), self.longest_pause_s)


def _passing(error: ErrataError) -> bool:
    """Whether the trouble may be over by itself in a moment."""
    if isinstance(error, TimedOut):
        return False
    return isinstance(error, Unreachable | TooMany | Unavailable)
