"""The questions of clients and editors: few, so that every question has many answers in one run."""

from random import Random

from tests.service.toy import FACTS

BOXES = 40
BASE = dict(FACTS)
"""What the toy answers before any edit."""

BY_ROW = tuple(f"What is on shelf {shelf}?" for shelf in range(BOXES // 4))
"""Corrected by the table's row itself. A gate would answer before it, so these are no gate's."""

BY_GATE = (*BASE, *(f"What is in box {box}?" for box in range(BOXES)))
HISTORY = 300
"""Commits that are made before the load, so that replicas start from a manifest and versions have a past."""


def historic(commit: int) -> str:
    return f"What was said first, number {commit}?"


EDITABLE = (*BY_GATE, *BY_ROW)


def paraphrase(question: str) -> str:
    """Return another wording, which an edit may give as its paraphrase. It is never one of CORRECTED."""
    return f"Tell me: {question}"


GRAPH = {
    wording: answer
    for question, answer in BASE.items()
    if question != "Who wrote Hamlet?"
    for wording in (question, paraphrase(question))
}
"""What the atlas answers, whatever is edited: it is surer than the toy, unless that answers by an edit."""


def choose(chance: Random) -> str:
    """Choose a question for a client, sometimes in its other wording."""
    if chance.random() < 0.1:
        return historic(chance.randrange(HISTORY))
    question = chance.choice(EDITABLE)
    return paraphrase(question) if chance.random() < 0.2 else question
