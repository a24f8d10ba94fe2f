"""The cost of a question, which is read again for each name of the graph in it."""

from __future__ import annotations

from models.cost import count_short, default_cost
from models.system import Ask


def cost(ask: Ask) -> int:
    """Return the cost."""
    return default_cost(ask, len(ask.mentions) * count_short(len(ask.question)))
