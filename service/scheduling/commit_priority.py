"""Commits go first in the thread of the models, which runs one piece of work after the other.

A dry run of a thousand edits, a diff and the fact tests are seconds of work that no correction should wait for. They
hand in one piece at a time, and none while a commit is under way, so a commit waits for at most one piece.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar

MAX_WAIT_S = 0.25  # longest wait of one piece, so that many commits do not stop the others for good
PIECES = 8  # number of pieces into which others split work that a commit does at once

_goes_first: ContextVar[bool] = ContextVar("goes_first", default=False)


class CommitPriority:
    def __init__(self) -> None:
        self._n_first = 0
        self._free = asyncio.Event()
        self._free.set()
        self._turn_lock = asyncio.Lock()

    @contextmanager
    def hold(self, after_s: float = 0.0) -> Iterator[None]:
        """Let this task, and the tasks that it starts, go first inside the block; others wait for `after_s` more."""
        token = _goes_first.set(True)
        self._n_first += 1
        self._free.clear()
        try:
            yield
        finally:
            _goes_first.reset(token)
            if after_s:
                asyncio.get_running_loop().call_later(after_s, self._release)
            else:
                self._release()

    def _release(self) -> None:
        self._n_first -= 1
        if not self._n_first:
            self._free.set()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until this task may hand in a piece: a commit may at once, others one after the other."""
        if _goes_first.get():
            yield
            return
        async with self._turn_lock:
            with suppress(TimeoutError):
                async with asyncio.timeout(MAX_WAIT_S):
                    await self._free.wait()
            yield


def piece_size(commit_size: int) -> int:
    """Return how many items this task may hand in together; a commit may hand in `commit_size`."""
    return commit_size if _goes_first.get() else max(1, commit_size // PIECES)
