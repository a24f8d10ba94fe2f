"""The cost of a question to ERNIE-Doc, which reads its document window by window."""

from __future__ import annotations

from models.cost import default_cost
from models.system import Ask

DOCUMENT = 64  # a document of 1,000 words, in short questions; more than a batch, so that it is read in steps


def cost(ask: Ask) -> int:
    """Return the cost; the memory knows the length of a document, the question does not."""
    return default_cost(ask, DOCUMENT if ask.document is not None else 0)
