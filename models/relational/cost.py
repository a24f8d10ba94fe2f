"""The cost of a question to the relational reader: walks begin at each name of the graph in it."""

from __future__ import annotations

from models.cost import default_cost
from models.system import Ask


def cost(ask: Ask) -> int:
    """Return the cost; the walks from one name cost as much as a short question."""
    return default_cost(ask, len(ask.mentions))
