"""The contract of a memory that adds facts to a question before a system answers it.

The graph is such a memory (`service/graph`): its rows are in Redis, and no model waits for a network.
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
    """Questions with the facts of a memory."""

    asks: list[Ask | ErrataError]  # the questions, or the error of a question
    link_s: float = 0.0  # seconds of finding names in the words of the batch
    read_s: float = 0.0  # seconds of reading their facts
    hits: int = 0  # rows that were cached
    misses: int = 0  # rows that had to be read
    facts: Sequence[int] = ()  # number of facts of each question


class Informs(Protocol):
    """Adds the facts of a memory to many questions at once."""

    memory: str
    """Name of the memory."""

    async def prepare(self, view: Any) -> None:
        """Make a view ready for questions; every view is prepared once before it is read."""

    async def inform(
        self, asks: Sequence[Ask], views: Sequence[Any], reach: Reach | None = None
    ) -> InformedBatch:
        """Return each question with the facts of its view.

        Args:
            reach: How far the system reads around the entities of a question; None for these alone.
        """

    def find_damage(self, view: Any) -> str | None:
        """Describe in one sentence why a part of this view is not found; return None if all is."""

    async def watch_damage(self, newest: Callable[[], View | None]) -> None:
        """Check damaged parts again every few seconds, for ever; an operator may have repaired them."""
