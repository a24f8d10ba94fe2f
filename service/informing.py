"""What a memory adds to a question before it is asked: the contract between such a memory and those who ask.

The graph is one (`service/graph`): its rows lie in Redis, and no model waits for a network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from models.graph.neighbours import Reach
from models.memory import View
from models.system import Ask
from service.errors import ErrataError


@dataclass(frozen=True)
class InformedBatch:
    """Questions with what a memory says of them.

    Attributes:
        asks: The questions, or why nothing can be said of one.
        link_s: Seconds that it took to find names in the words of the batch.
        read_s: Seconds that it took to read what is said of them.
        hits: Rows that were cached.
        misses: Rows that had to be read.
        facts: Number of facts that each question got.
    """

    asks: list[Ask | ErrataError]
    link_s: float = 0.0
    read_s: float = 0.0
    hits: int = 0
    misses: int = 0
    facts: Sequence[int] = ()


class Informs(Protocol):
    """Adds to questions what a memory says of them, many at once."""

    memory: str
    """Name of the memory."""

    async def prepare(self, view: Any) -> None:
        """Make a view ready for questions; every view is prepared once before it is read."""

    async def inform(
        self, asks: Sequence[Ask], views: Sequence[Any], reach: Reach | None = None
    ) -> InformedBatch:
        """Return each question with what its view says of it.

        Args:
            asks: The questions.
            views: The memory at the version of each question.
            reach: How far around the entities of a question the system reads; None for these alone.
        """

    def find_damage(self, view: Any) -> str | None:
        """Return what keeps a part of this view from being found, in one sentence; None if nothing does."""

    async def watch_damage(self, newest: Callable[[], View | None]) -> None:
        """Look again for ever at what was damaged; somebody may have put it right."""
