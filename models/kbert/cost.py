"""The cost of a question, which is read again for each name of the graph in it and each sentence of its context."""

from __future__ import annotations

from models.cost import count_short, default_cost
from models.system import Ask

MAX_SENTENCES = 64  # sentences of a context that are read one by one


def cost(ask: Ask) -> int:
    """Return the cost; the sentences of a context are estimated by their stops."""
    n_sentences = min(MAX_SENTENCES, sum(map((ask.context or "").count, ".!?\n")))
    return default_cost(ask, (len(ask.mentions) + n_sentences) * count_short(len(ask.question)))
