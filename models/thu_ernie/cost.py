"""The cost of a question to THU-ERNIE, which reads it once for each name of the graph that it may be about."""

from __future__ import annotations

from models.cost import count_short, default_cost
from models.system import Ask

MAX_MASKS = 4  # readings of a question, `subjects` in the settings of the default checkpoint


def cost(ask: Ask) -> int:
    """Return the cost; beside a context a question is read once, whatever it names."""
    n_masks = 0 if ask.context else min(MAX_MASKS, len(ask.mentions))
    return default_cost(ask, n_masks * count_short(len(ask.question)))
